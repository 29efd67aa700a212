/// What `--print-config` prints: each setting, its value, and where that is from.
struct ConfigurationReport: Encodable {
    struct Row: Encodable {
        let name: String
        /// As it was written, or the default.
        let value: String?
        /// `default`, `file`, `environment` or `flag`.
        let source: String
        var file: String?
        var line: Int?
        var variable: String?
        /// Whether SIGHUP changes it.
        let isLive: Bool

        var origin: String {
            if let file, let line { return "\(file):\(line)" }
            return variable ?? source
        }
    }

    let file: String?
    let settings: [Row]

    init(_ values: [ServeConfiguration.Value], file: String?) {
        self.file = file
        settings = values.filter { !$0.setting.isHidden }.map { value in
            let texts = value.texts.joined(separator: ", ")
            func row(_ source: String, _ text: String?) -> Row {
                Row(
                    name: value.setting.name, value: text, source: source,
                    isLive: value.setting.change == .live)
            }
            switch value.source {
            case .preset: return row("default", value.setting.defaultText)
            case .flag: return row("flag", texts)
            case .environment(let variable):
                var row = row("environment", texts)
                row.variable = variable
                return row
            case .file(let path, let line):
                var row = row("file", texts)
                (row.file, row.line) = (path, line)
                return row
            }
        }
    }

    var text: String {
        var table = TextTable([("SETTING", .left), ("VALUE", .left), ("FROM", .left)])
        for row in settings { table.append([row.name, row.value ?? "-", row.origin]) }
        return table.takeText(withTitles: true)
    }
}
