import BlobServer

extension ServeConfiguration {
    /// Reads everything again. What a running daemon cannot change stays as it is in `current`.
    func reload(_ current: DaemonOptions) throws(ConfigurationError) -> Reload {
        // An editor or a disk that was full leaves such a file behind. It would lift every limit.
        var options = try Self.options(of: try values(takesEmptyFile: false))
        var changes: [String] = []
        var pendingRestart: [String] = []
        for setting in Setting.all {
            let (before, after) = (setting.texts(current), setting.texts(options))
            guard before != after else { continue }
            let line = "\(setting.name): \(Self.words(after)), was \(Self.words(before))"
            switch setting.change {
            case .live: changes.append(line)
            case .atStart:
                pendingRestart.append(line)
                setting.copy(current, &options)
            }
        }
        return Reload(options: options, changes: changes, pendingRestart: pendingRestart)
    }

    private static func words(_ texts: [String]) -> String {
        texts.isEmpty ? "not set" : texts.joined(separator: ", ")
    }
}
