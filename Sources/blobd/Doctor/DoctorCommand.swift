import ArgumentParser
import BlobProtocol
import BlobServer
import BlobStore
import FoundationEssentials
import Glibc

struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check the machine, the configuration and the daemon.",
        discussion: """
            Checks the configuration, the store's directory and file system, sockets, keys, limits, the \
            clock, the running daemon, and nginx. Says what to do about each finding, and changes nothing. \
            Run it as root or as the daemon's user.

              blobd doctor
              blobd doctor --data ./data --socket ./blobd.sock
              blobd doctor --json | jq '.[] | select(.state != "ok")'

            Exit codes: 0 no problem (warnings are possible), 1 a problem, 2 bad usage, 5 the findings \
            could not be printed.
            """)

    @Option(
        help: .named("file", "The daemon's configuration. Default: as `blobd serve` finds it."),
        completion: .file())
    var config: String?

    @Option(help: .named("path", "The store's directory."), completion: .directory)
    var data: String?

    @Option(help: .named("path", "The daemon's socket."), completion: .file())
    var socket: String?

    @Option(
        help: .named(
            "file",
            "nginx's configuration. Default: what `nginx -T` prints, where nginx is installed."),
        completion: .file())
    var nginx: String?

    @Flag(help: "Print the findings as JSON.")
    var json = false

    func run() throws {
        let findings = check()
        try StandardOutput.write(
            json
                ? try JSONLine.text(findings)
                : Self.text(findings, isColoured: StandardOutput.takesEscapes),
            orExit: .notChecked)
        let count = findings.count { $0.state == .problem }
        guard count == 0 else {
            throw CommandFailure(.refused, "\(HumanText.count(count, of: "problem")) found")
        }
    }

    private func check() -> [Finding] {
        var (options, all) = readConfiguration()
        let isConfigured = !all.contains { $0.state != .ok }
        // Like the client commands.
        if options.socketPath.isEmpty, isConfigured {
            options.socketPath = DaemonSocket.defaultPath
        }
        let holder = DaemonNumber.holder(of: options.dataPath)
        let daemon = holder ?? DaemonNumber.listener(at: options.socketPath)
        // Only its unit names one that systemd has passed.
        if options.deviceSocketPath == nil, let daemon {
            let main = SystemFiles.status(options.socketPath)?.st_ino
            options.deviceSocketPath = ListeningSockets.paths(of: daemon).first { path in
                SystemFiles.status(path).map { $0.st_ino != main } ?? false
            }
        }
        if options.dataPath.isEmpty {
            // A configuration with a mistake may set it.
            if isConfigured {
                all.append(
                    Finding(
                        "data directory", "not checked: `data` is not set", .warning,
                        "Give --data or --config."))
            }
        } else {
            let mapped = isConfigured ? options.store.mapByteCountMax : .max
            let store = StoreChecks(
                path: options.dataPath, mapByteCountMax: mapped, holder: holder)
            all += store.run()
        }
        for (name, path, group) in [
            ("socket", options.socketPath, options.socketGroup),
            ("device socket", options.deviceSocketPath ?? "", options.deviceSocketGroup),
        ] where !path.isEmpty {
            all += SocketChecks(name: name, path: path, group: group, holder: holder).run()
        }
        if let path = options.signingKeyPath {
            let user = daemon.flatMap(Account.init(process:)) ?? Account(ownerOf: options.dataPath)
            all.append(keys(path, user))
        }
        all += MachineChecks(options: options, limits: daemon.flatMap(ProcessLimits.of)).run()
        guard !options.socketPath.isEmpty else { return all }
        var socket = SocketOptions()
        socket.timeout = 5
        all +=
            DaemonChecks(path: options.socketPath, holder: holder, options: socket.options()).run()
        return all + nginxChecks(options)
    }

    /// A mistake in the configuration is a finding, and the only one: what is known from flags and the environment is
    /// checked all the same, but what the configuration may say is not supposed to be the default.
    private func readConfiguration() -> (DaemonOptions, [Finding]) {
        let environment = ProcessInfo.processInfo.environment
        var flags: [String: [String]] = [:]
        if let data { flags["data"] = [data] }
        if let socket { flags["socket"] = [socket] }
        do {
            let configuration = try ServeConfiguration(
                path: config, flags: flags, environment: environment)
            let options = try ServeConfiguration.options(of: try configuration.values())
            let path = configuration.path ?? "no file; the environment and the defaults"
            return (options, [Finding("configuration", path)])
        } catch {
            let advice =
                "The daemon does not start with it. Test a change with: blobd serve --check-config"
            let path = config ?? ServeConfiguration.path(in: environment) ?? ""
            return (
                DaemonOptions(
                    dataPath: data ?? "",
                    socketPath: socket ?? environment[DaemonSocket.variable] ?? ""),
                [
                    SystemFiles.isClosed(path)
                        ? .unseen("configuration", path, EACCES, "")
                        : Finding("configuration", "\(error)", .problem, advice)
                ]
            )
        }
    }

    private func keys(_ path: String, _ user: Account?) -> Finding {
        if let user, let obstacle = user.obstacle(path, .read) {
            return Finding(
                "signing keys", "\(user.name), the daemon's user, cannot read \(obstacle)",
                obstacle.state,
                "Without them the daemon does not start: chown \(user.name) \(obstacle.path)")
        }
        if SystemFiles.isClosed(path) { return .unseen("signing keys", path, EACCES, "") }
        do throws(SigningKeyError) {
            let keys = try SigningKeyFile.read(path)
            return Finding("signing keys", "\(path): \(keys.ids.joined(separator: ", "))")
        } catch {
            return Finding(
                "signing keys", error.description, .problem,
                "No link is valid until this is fixed.")
        }
    }

    private func nginxChecks(_ options: DaemonOptions) -> [Finding] {
        if let nginx {
            do throws(SmallFile.Failure) {
                let bytes = try SmallFile.read(nginx, byteCountMax: 1 << 20)
                let text = String(decoding: bytes, as: UTF8.self)
                return NginxChecks(text: text, options: options).run()
            } catch {
                return [
                    Finding(
                        "nginx", "not checked: \(nginx): \(error.reason)", .problem,
                        "Give --nginx a file with its configuration, such as what nginx -T prints.")
                ]
            }
        }
        let absent: Int32 = 100
        let command =
            "PATH=$PATH:/usr/sbin; command -v nginx >/dev/null || exit \(absent); nginx -T 2>/dev/null"
        guard let pipe = popen(command, "r") else { return [] }
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = fread(&buffer, 1, buffer.count, pipe)
            guard count > 0 else { break }
            text += buffer[..<count]
        }
        let status = pclose(pipe) >> 8
        guard status != absent else { return [] }
        guard status == 0 else {
            return [
                Finding(
                    "nginx", "not checked: `nginx -T` failed", .warning,
                    geteuid() == 0 ? "See: nginx -t" : "Run blobd doctor as root.")
            ]
        }
        let words = String(decoding: text, as: UTF8.self)
        // It may be unrelated to this daemon.
        return words.contains("blobd") ? NginxChecks(text: words, options: options).run() : []
    }

    static func text(_ findings: [Finding], isColoured: Bool) -> String {
        var text = ""
        let width = (findings.map(\.check.count).max() ?? 0) + 2
        for finding in findings {
            let (mark, colour) =
                switch finding.state {
                case .ok: ("ok      ", "32")
                case .warning: ("warning ", "33")
                case .problem: ("PROBLEM ", "31")
                }
            text += isColoured ? "\u{1B}[\(colour)m\(mark)\u{1B}[0m" : mark
            text += finding.check + String(repeating: " ", count: width - finding.check.count)
            text += HumanText.line(finding.seen, characterCountMax: 400) + "\n"
            if let advice = finding.advice {
                text += String(repeating: " ", count: 8 + width) + "→ \(advice)\n"
            }
        }
        let problems = findings.count { $0.state == .problem }
        let warnings = findings.count { $0.state == .warning }
        return text
            + "\n\(HumanText.count(findings.count, of: "check")), "
            + "\(HumanText.count(problems, of: "problem")), "
            + "\(HumanText.count(warnings, of: "warning"))\n"
    }
}

struct Finding: Encodable, Sendable {
    enum State: String, Encodable, Sendable {
        case ok
        /// It works, but perhaps not permanently, or not well.
        case warning
        /// It does not work, or loses data.
        case problem
    }

    let check: String
    let state: State
    let seen: String
    /// What to do; nil if there is no problem.
    let advice: String?
}

extension Finding {
    /// What a check saw, and what to do unless the state is ok.
    init(_ check: String, _ seen: String, _ state: State = .ok, _ advice: String? = nil) {
        self.init(check: check, state: state, seen: seen, advice: state == .ok ? nil : advice)
    }

    /// What cannot be seen at a path: a problem, unless it is only this user who may not look.
    static func unseen(_ check: String, _ path: String, _ code: CInt, _ advice: String) -> Finding {
        code == EACCES || code == EPERM
            ? Finding(
                check, "not checked: \(path): \(errorText(code))", .warning, SystemFiles.otherUser)
            : Finding(check, "\(path): \(errorText(code))", .problem, advice)
    }

    /// Adds a fault, unless there already is one.
    func or(_ isThere: Bool, _ state: State, _ advice: String) -> Finding {
        self.state == .ok && isThere ? Finding(check, seen, state, advice) : self
    }
}
