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

extension ServeConfiguration {
    /// Checks what a start and a reload check before they touch anything. Returns a line that says so.
    ///
    /// It runs as `ExecReload=`, which gets neither the sockets nor the credentials of the service. So a
    /// socket need not be named, and keys that are a credential are not read.
    func check() throws(ConfigurationError) -> String {
        // As a reload: an empty file would lift every limit.
        let values = try values(takesEmptyFile: false)
        let options = try Self.options(of: values, hasCredentials: false)
        try Self.checkRequired(options, hasSocket: true)
        if let keys = options.signingKeyPath, !keys.hasPrefix(Self.credentialPrefix) {
            do throws(SigningKeyFile.Failure) {
                _ = try SigningKeyFile.read(keys)
            } catch {
                throw ConfigurationError(error.description)
            }
        }
        for name in strangers {
            StandardError.write("blobd: \(Self.notice(ofStranger: name))\n")
        }
        let subject = path.map { "\($0): " } ?? ""
        let socket =
            options.socketPath.isEmpty ? "; it names no socket: systemd has to pass one" : ""
        return "\(subject)the configuration is good\(socket)\n"
    }

    /// What is said of a variable that is named as ours and is no setting's.
    static func notice(ofStranger name: String) -> String {
        "\(name) is not a setting's variable; it changes nothing"
    }
}
