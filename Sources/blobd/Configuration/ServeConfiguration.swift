import BlobProtocol
import BlobServer
import Glibc
import ObjectStore

/// The configuration of a daemon: a file, the environment, and flags, in order of increasing precedence. Read at the
/// start and at each SIGHUP.
struct ServeConfiguration {
    static let defaultPath = "/etc/blobd/blobd.yaml"
    static let pathVariable = "BLOBD_CONFIG"

    enum Source {
        case preset
        case file(String, line: Int)
        case environment(String)
        case flag
    }

    struct Value {
        let setting: Setting
        /// As written; empty: not given.
        let texts: [String]
        let source: Source
    }

    let path: String?
    /// Variables with our prefix that belong to no setting and have no effect.
    let strangers: [String]
    private let variables: [String: String]
    private let flags: [String: [String]]

    /// - Parameter environment: the process's environment. Empty variables count as unset.
    init(
        path: String?, flags: [String: [String]], environment: [String: String]
    ) throws(ConfigurationError) {
        let prefix = "BLOBD_"
        let variables = environment.filter { $0.key.hasPrefix(prefix) && !$0.value.isEmpty }
        let known = Set(Setting.all.map(\.variable) + [Self.pathVariable])
        strangers = variables.keys.filter { !known.contains($0) }.sorted()
        // Scripts and other programs use variables with such names. Only a likely typing mistake is an error.
        for name in strangers {
            let meant = NearestWord.find(
                String(name.dropFirst(prefix.count)),
                known.map { String($0.dropFirst(prefix.count)) })
            guard let meant, meant.distance <= max(1, (name.count - prefix.count) / 3) else {
                continue
            }
            throw ConfigurationError(
                "\(name) does not name a setting; the nearest is \(prefix)\(meant.word)")
        }
        self.path = path ?? Self.path(in: variables)
        self.variables = variables
        self.flags = flags
    }

    static func path(in environment: [String: String]) -> String? {
        if let path = environment[pathVariable], !path.isEmpty { return path }
        return access(defaultPath, F_OK) == 0 ? defaultPath : nil
    }

    /// - Parameter takesEmptyFile: whether an empty file is accepted.
    func values(takesEmptyFile: Bool = true) throws(ConfigurationError) -> [Value] {
        let file: ConfigurationFile? =
            if let path { try ConfigurationFile(reading: path) } else { nil }
        if let file, file.isEmpty, !takesEmptyFile {
            throw ConfigurationError(
                "\(file.path): is empty; to use the defaults, write a comment into it")
        }
        return try Setting.all.map { (setting) throws(ConfigurationError) in
            try value(of: setting, file)
        }
    }

    private func value(
        of setting: Setting, _ file: ConfigurationFile?
    ) throws(ConfigurationError) -> Value {
        if let texts = flags[setting.name] {
            return Value(setting: setting, texts: texts, source: .flag)
        }
        if let text = variables[setting.variable] {
            let texts = setting.kind == .list ? Self.items(text) : [text]
            return Value(setting: setting, texts: texts, source: .environment(setting.variable))
        }
        if let file, let given = try file.given(setting) {
            return Value(
                setting: setting, texts: given.texts, source: .file(file.path, line: given.line))
        }
        return Value(setting: setting, texts: [], source: .preset)
    }

    private static func items(_ text: String) -> [String] {
        text.split(separator: ",", omittingEmptySubsequences: false).map { item in
            var item = item.drop(while: \.isWhitespace)
            while item.last?.isWhitespace == true { item.removeLast() }
            return String(item)
        }
    }

    /// The options for these values, once each is within its bounds.
    ///
    /// - Parameter hasCredentials: whether systemd has passed its credentials to this process. Without them, a path
    ///   that begins with ``credentialPrefix`` is left as it is.
    static func options(
        of values: [Value], hasCredentials: Bool = true
    ) throws(ConfigurationError) -> DaemonOptions {
        var options = Setting.unset
        options.workerCount = coreCount
        for value in values {
            if case .preset = value.source { continue }
            do throws(Setting.Mismatch) {
                try value.setting.set(value.texts, &options)
            } catch {
                throw value.refuse(
                    "is \(error.text.isEmpty ? "empty" : error.text); it must be \(value.setting.expected)"
                )
            }
        }
        try check(options, values)
        if hasCredentials {
            options.signingKeyPath = try options.signingKeyPath.map {
                (path) throws(ConfigurationError) in
                try credential(path, values)
            }
        }
        return options
    }

    /// Checks what a start and a reload require.
    ///
    /// - Parameters:
    ///   - hasSocket: whether a socket is passed, so that none has to be named.
    ///   - hasDeviceSocket: whether a device socket is passed, which needs keys.
    static func checkRequired(
        _ options: DaemonOptions, hasSocket: Bool, hasDeviceSocket: Bool = false
    ) throws(ConfigurationError) {
        let required = [("data", options.dataPath), ("socket", options.socketPath)]
        for (name, path) in required where path.isEmpty && !(name == "socket" && hasSocket) {
            throw ConfigurationError(
                "--\(name) is missing: give the flag, or \(name) in a file (--config)")
        }
        if hasDeviceSocket, options.signingKeyPath == nil {
            throw ConfigurationError(
                "the passed device socket serves signed links: --signing-keys is required")
        }
    }

    private static func check(
        _ options: DaemonOptions, _ values: [Value]
    ) throws(ConfigurationError) {
        func value(_ name: String) -> Value { Self.value(name, in: values) }
        if options.limits.defaultTTLSeconds > options.limits.ttlSecondsMax {
            let most = value("max-ttl").setting.texts(options).joined()
            throw value("default-ttl").refuse(
                "is \(value("default-ttl").texts.joined()); it must be at most max-ttl, which is \(most)"
            )
        }
        if options.replica.localByteCountMax != nil, options.replica.shard == nil {
            throw value("local-bytes").refuse(
                "requires --replicate or --follow")
        }
        if let shard = options.replica.replicate, let followed = options.replica.follow {
            throw value("follow").refuse(
                "is \(followed), but replicate is \(shard): set only one of them")
        }
        if options.replica.shard != nil,
            options.limits.payloadByteCountMax > ObjectStoreLimits.payloadByteCountMax
        {
            throw value("max-payload").refuse(
                "is \(value("max-payload").texts.joined()); with replicate or follow it must be at most 512MiB, which is what one put to a bucket carries"
            )
        }
        let longest = SocketFile.pathByteCountMax
        for (name, path) in [
            ("socket", options.socketPath), ("device-socket", options.deviceSocketPath ?? ""),
        ] where path.utf8.count > longest {
            throw value(name).refuse(
                "is a path of \(path.utf8.count) bytes; the limit is \(longest)")
        }
        if let path = options.deviceSocketPath, path == options.socketPath {
            throw value("device-socket").refuse(
                "is \(path), but so is socket: give it another path")
        }
        guard options.signingKeyPath == nil else { return }
        if options.limits.linkBase != nil {
            throw value("link-base").refuse("requires --signing-keys")
        }
        if options.deviceSocketPath != nil {
            throw value("device-socket").refuse("requires --signing-keys")
        }
    }

    static let credentialPrefix = "$CREDENTIALS_DIRECTORY/"

    /// The path of a file that may be a systemd credential: a leading `$CREDENTIALS_DIRECTORY` is replaced by its value
    /// in the environment.
    private static func credential(
        _ path: String, _ values: [Value]
    ) throws(ConfigurationError) -> String {
        guard path.hasPrefix(credentialPrefix) else { return path }
        // The environment of the process does not change after its start.
        guard let folder = getenv("CREDENTIALS_DIRECTORY") else {
            throw value("signing-keys", in: values).refuse(
                "is \(path), but CREDENTIALS_DIRECTORY is not set: the unit needs LoadCredential="
            )
        }
        return "\(String(cString: folder))/\(path.dropFirst(credentialPrefix.count))"
    }

    private static func value(_ name: String, in values: [Value]) -> Value {
        guard let value = values.first(where: { $0.setting.name == name }) else {
            preconditionFailure("there is no setting \(name)")
        }
        return value
    }

    private static var coreCount: Int {
        min(max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))), DaemonOptions.workerCountMax)
    }
}

extension ServeConfiguration.Value {
    fileprivate func refuse(_ reason: String) -> ConfigurationError {
        let subject =
            switch source {
            case .preset, .flag: "--\(setting.name)"
            case .environment(let variable): variable
            case .file(let path, let line): "\(path):\(line): \(setting.name)"
            }
        return ConfigurationError("\(subject) \(reason)")
    }
}

extension ServeConfiguration {
    /// Reads everything again, and checks it like a start. Settings that a running daemon cannot change keep their
    /// values in `current`, and the others must suit them.
    func reload(
        _ current: DaemonOptions, hasSocket: Bool, hasDeviceSocket: Bool
    ) throws(ConfigurationError) -> Reload {
        // An editor, or a full disk, may leave an empty file, which would remove every limit.
        let values = try values(takesEmptyFile: false)
        var options = try Self.options(of: values)
        try Self.checkRequired(options, hasSocket: hasSocket, hasDeviceSocket: hasDeviceSocket)
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
        do throws(ConfigurationError) {
            try Self.check(options, values)
        } catch {
            throw ConfigurationError("until a restart, \(error)")
        }
        return Reload(options: options, changes: changes, pendingRestart: pendingRestart)
    }

    private static func words(_ texts: [String]) -> String {
        texts.isEmpty ? "not set" : texts.joined(separator: ", ")
    }
}

extension ServeConfiguration {
    /// Checks what a start and a reload check before they have any effect. Returns a line that reports success.
    ///
    /// Runs as `ExecReload=`, which gets neither the sockets nor the credentials of the service. So a socket need not
    /// be named, and keys from a credential are not read.
    func check() throws(ConfigurationError) -> String {
        // Like a reload: an empty file would remove every limit.
        let values = try values(takesEmptyFile: false)
        let options = try Self.options(of: values, hasCredentials: false)
        try Self.checkRequired(options, hasSocket: true)
        if let keys = options.signingKeyPath, !keys.hasPrefix(Self.credentialPrefix) {
            do throws(SigningKeyError) {
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
            options.socketPath.isEmpty ? "; no socket is set: systemd must pass one" : ""
        return "\(subject)the configuration is valid\(socket)\n"
    }

    static func notice(ofStranger name: String) -> String {
        "\(name) does not name a setting; it is ignored"
    }
}
