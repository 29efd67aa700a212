import BlobServer
import Foundation
import TestSupport
import Testing

@testable import blobd

/// Files, variables and flags of `blobd serve`: which one wins, and what is wrong with them.
@Suite struct ServeConfigurationTests {
    private let folder = TemporaryFolder()

    private func file(_ text: String) throws -> String {
        try folder.write("blobd.yaml", Array(text.utf8))
    }

    private func options(
        _ yaml: String? = nil, _ environment: [String: String] = [:],
        _ flags: [String: [String]] = [:]
    ) throws -> DaemonOptions {
        let configuration = try ServeConfiguration(
            path: try file(yaml ?? ""), flags: flags, environment: environment)
        return try ServeConfiguration.options(of: try configuration.values())
    }

    @Test("A flag precedes the environment, which precedes the file, which precedes the default")
    func precedence() throws {
        let flags = ["max-payload": ["1MB"]]
        let environment = ["BLOBD_MAX_PAYLOAD": "2MB", "PATH": "/bin"]
        let yaml = "max-payload: 3MB"
        func size(_ options: DaemonOptions) -> Int { options.limits.payloadByteCountMax }
        #expect(size(try options(yaml, environment, flags)) == 1_000_000)
        #expect(size(try options(yaml, environment)) == 2_000_000)
        #expect(size(try options(yaml)) == 3_000_000)
        #expect(size(try options(yaml, ["BLOBD_MAX_PAYLOAD": ""])) == 3_000_000)
        #expect(size(try options()) == 64 << 20)
        // In a file the last one wins only between places; one place has a setting once.
        #expect(try options("# nothing\n---\n").limits.ttlSecondsMax == 30 * 86_400)
    }

    @Test("Lists are lists everywhere")
    func lists() throws {
        #expect(try options("allow-uid: [33, 34]").allowedUserIDs == [33, 34])
        #expect(try options("allow-uid:\n  - 33\n  - 34\n").allowedUserIDs == [33, 34])
        #expect(try options("allow-uid: 33").allowedUserIDs == [33])
        #expect(try options("allow-uid: []").allowedUserIDs == [])
        #expect(try options("", ["BLOBD_ALLOW_UID": "33, 34"]).allowedUserIDs == [33, 34])
        #expect(
            try options("allow-uid: 5", [:], ["allow-uid": ["33", "34"]]).allowedUserIDs == [
                33, 34,
            ])
    }

    @Test("Switches, modes and quoted texts are what a person means")
    func forms() throws {
        let given = try options(
            """
            data: "/var/lib/a b"
            socket-mode: 0600
            write-ahead-log: no
            require-if-match: True
            min-rate: 0
            max-ttl: 3600
            idle-timeout: 500ms
            profile: ios
            log-level: 'debug'
            link-base: https://push.example.com
            signing-keys: ~/keys   # a path as it is
            """)
        #expect(given.dataPath == "/var/lib/a b")
        #expect(given.socketMode == 0o600)
        #expect(!given.limits.isLogging && given.limits.requiresIfMatch)
        #expect(given.limits.rateMin == 0 && given.limits.idleMilliseconds == 500)
        #expect(given.limits.ttlSecondsMax == 3_600 && given.limits.defaultTTLSeconds == 3_600)
        #expect("\(given.limits.profile!) \(given.logLevel)" == "ios debug")
        #expect(given.signingKeyPath == "~/keys")
    }

    @Test(
        "A mistake is named with its file, line, key, value and limit",
        arguments: [
            (
                "data: x\nmax-paylaod: 1",
                "2: max-paylaod is not a setting; the nearest is max-payload"
            ),
            ("max_payload: 1", "1: max_payload is not a setting; the nearest is max-payload"),
            ("zzzzzzzzzzzz: 1", "1: zzzzzzzzzzzz is not a setting"),
            ("limits:\n  max-payload: 1", "1: limits is not a setting"),
            ("max-payload: [1]", "1: max-payload is a list; it must be a size such as"),
            ("max-payload: {a: 1}", "1: max-payload is a mapping; it must be a size such as"),
            ("allow-uid: [[1]]", "1: allow-uid is a list of more than texts"),
            ("max-payload: -5", "1: max-payload is -5; it must be a size"),
            (
                "max-payload: 65GiB",
                "1: max-payload is 65GiB; it must be a size such as 65536, 512KiB or 10MB, 1 to 64GiB"
            ),
            (
                "replicate: s3://test/a\nmax-payload: 600MiB",
                "2: max-payload is 600MiB; with replicate or follow it must be at most 512MiB"
            ),
            (
                "follow: s3://test/a\nmax-payload: 600MiB",
                "2: max-payload is 600MiB; with replicate or follow it must be at most 512MiB"
            ),
            ("max-payload: 9999999999999999999", "it must be a size"),
            ("max-payload:", "1: max-payload is empty"),
            ("max-payload: null", "1: max-payload is empty"),
            ("max-payload: ''", "1: max-payload is empty"),
            ("workers: 0", "1: workers is 0; it must be a number, 1 to 64"),
            ("workers: many", "1: workers is many; it must be a number, 1 to 64"),
            ("max-ttl: 1.5h", "1: max-ttl is 1.5h; it must be a time"),
            ("max-ttl: 1500ms", "1: max-ttl is 1500ms; it must be a time such as 90s"),
            ("default-ttl: 31d", "1: default-ttl is 31d; it must be at most max-ttl, which is 30d"),
            ("write-ahead-log: maybe", "1: write-ahead-log is maybe; it must be true or false"),
            ("log-level: loud", "1: log-level is loud; it must be one of trace, debug"),
            ("socket-mode: 999", "1: socket-mode is 999; it must be permission bits"),
            ("socket-group: no-such-group", "it must be a group of this system"),
            ("allow-uid: [1, -2]", "1: allow-uid is -2; it must be a user id"),
            ("link-base: ftp://x", "1: link-base is ftp://x; it must be an address"),
            ("link-base: https://x.y", "1: link-base requires --signing-keys"),
            ("device-socket: /x", "1: device-socket requires --signing-keys"),
            (
                "max-payload: 1\nmax-ttl: 1\nmax-payload: 2",
                "3: max-payload is set twice, first on line 1"
            ),
            ("a: b\n---\nc: d", "2: must contain exactly one document"),
            ("- a", "1: must consist of lines \"key: value\""),
            ("max-payload", "1: must consist of lines"),
            ("[a]: b", "1: a key must be a word"), ("max-payload: \"1", "found unexpected end"),
            ("\tmax-payload: 1", "1: found character that cannot start any token"),
            ("max-payload: &a 1\nmax-ttl: *a", "2: max-ttl is an alias"),
        ])
    func mistakes(yaml: String, words: String) throws {
        let error = #expect(throws: ConfigurationError.self) { try options(yaml) }
        let text = error?.description ?? ""
        #expect(text.hasPrefix("\(folder)/blobd.yaml:") && text.contains(words), "\(text)")
    }

    @Test("Mistakes of variables and flags are named as those are written")
    func otherPlaces() throws {
        func message(_ environment: [String: String], _ flags: [String: [String]] = [:]) -> String {
            do {
                _ = try options("", environment, flags)
                return ""
            } catch {
                return "\(error)"
            }
        }
        #expect(message(["BLOBD_MAX_PAYLOD": "1"]).contains("nearest is BLOBD_MAX_PAYLOAD"))
        #expect(message(["BLOBD_WORKERS": "99"]).hasPrefix("BLOBD_WORKERS is 99; it must be"))
        #expect(message([:], ["workers": ["99"]]).hasPrefix("--workers is 99; it must be"))
        #expect(message(["BLOBD_SOCKET": "/s", "BLOBD_SIGNING_KEYS": "/k"]) == "")
        // Others have variables that begin so, too.
        let others = ["BLOBD_KEY": "1", "BLOBD_SERVICE_PORT_80_TCP": "2", "BLOBD_BIN": "3"]
        #expect(message(others) == "")
        let configuration = try ServeConfiguration(path: nil, flags: [:], environment: others)
        #expect(configuration.strangers == others.keys.sorted())
    }

    @Test("A file that cannot be read is named with the reason")
    func unreadable() throws {
        func message(_ path: String) -> String {
            do {
                let configuration = try ServeConfiguration(path: path, flags: [:], environment: [:])
                _ = try configuration.values()
                return ""
            } catch {
                return "\(error)"
            }
        }
        let bytes = try folder.write("latin", [0x64, 0xE4, 0x0A])
        #expect(message(bytes) == "\(bytes): is not UTF-8")
        #expect(message("\(folder)") == "\(folder): is a directory")
        #expect(message("/nonexistent.yaml") == "/nonexistent.yaml: No such file or directory")
        let pipe = folder.path("pipe")
        mkfifo(pipe, 0o600)
        #expect(message(pipe) == "\(pipe): is not a regular file")
        let long = try folder.write("long", [UInt8](repeating: 0x23, count: 2 << 20))
        #expect(message(long) == "\(long): is longer than 1048576 bytes")
        #expect(message("/dev/null") == "")
    }

    @Test("Each setting has a default within its bounds, and a variable of its own")
    func table() throws {
        #expect(Set(Setting.all.map(\.variable)).count == Setting.all.count)
        for setting in Setting.all {
            var options = Setting.unset
            let texts = setting.texts(options)
            #expect(throws: Never.self, "\(setting.name): \(texts)") {
                if !texts.isEmpty { try setting.set(texts, &options) }
            }
            #expect(setting.texts(options) == texts, "\(setting.name)")
        }
    }
}
