/// The output of `--print-config`: each setting, its value, and its source.
enum ConfigurationReport {
    static func text(
        _ values: [ServeConfiguration.Value], file: String?, json: Bool
    ) throws(CommandFailure) -> String {
        let shown = values.filter { !$0.setting.isHidden }
        if json { return try JSONLine.object(["file": file, "settings": shown.map(\.json)]) }
        var table = TextTable([("SETTING", .left), ("VALUE", .left), ("FROM", .left)])
        for value in shown { table.append([value.setting.name, value.text ?? "-", value.origin]) }
        return table.takeText(withTitles: true)
    }
}

extension ServeConfiguration.Value {
    fileprivate var text: String? {
        if case .preset = source { setting.defaultText } else { texts.joined(separator: ", ") }
    }

    fileprivate var origin: String {
        switch source {
        case .preset: "default"
        case .file(let path, let line): "\(path):\(line)"
        case .environment(let variable): variable
        case .flag: "flag"
        }
    }

    fileprivate var json: JSONObject {
        var json: JSONObject = [
            "name": setting.name, "value": text, "source": origin,
            // Whether a SIGHUP changes it.
            "is_live": setting.change == .live,
        ]
        switch source {
        case .preset, .flag: break
        case .file(let path, let line):
            json["source"] = "file"
            json["file"] = path
            json["line"] = line
        case .environment(let variable):
            json["source"] = "environment"
            json["variable"] = variable
        }
        return json
    }
}
