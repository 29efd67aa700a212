import Glibc

/// An S3 server of another kind in its own processes, started by `Scripts/object-store`: one for all tests of a process.
public final class ObjectServer: Sendable {
    /// What can be started.
    public enum Kind: String, Sendable, CaseIterable {
        /// moto, from PyPI.
        case moto
        /// Ceph's gateway with a monitor and an OSD in memory.
        case rgw
    }

    /// Which it is.
    public let kind: Kind
    /// What clients are given: endpoint, region and keys. The bucket is `test`.
    public let variables: [String: String]
    private let folder: String

    /// Where it listens, on 127.0.0.1.
    public var port: UInt16 {
        variables["AWS_ENDPOINT_URL"].flatMap { UInt16($0.split(separator: ":").last ?? "") } ?? 0
    }

    private static let startedMoto = Result { try ObjectServer(.moto) }
    private static let startedRGW = Result { try ObjectServer(.rgw) }

    /// The server, started with the first call.
    public static func shared(_ kind: Kind) throws -> ObjectServer {
        switch kind {
        case .moto: try startedMoto.get()
        case .rgw: try startedRGW.get()
        }
    }

    /// Whether moto is there, or can be installed: half a minute, once for each build folder.
    public static let hasMoto = canInstall("moto")

    /// Whether Ceph's packages are here. They are 70 MB, and nothing installs them by the way but `Scripts/test`.
    public static let hasRGW = ["ceph-mon", "ceph-osd", "radosgw", "radosgw-admin", "ceph"]
        .allSatisfy {
            (try? run(["/bin/sh", "-c", "command -v \($0)"]).end) == .exited(0)
        }

    private static func canInstall(_ name: String) -> Bool {
        (try? run(["timeout", "-s", "KILL", "900", script, "install", name]).end) == .exited(0)
    }

    private static let script = "\(Files.package)/Scripts/object-store"

    private init(_ kind: Kind) throws {
        self.kind = kind
        // A port may be taken between the look and the start.
        var failure = TestFailure("")
        for _ in 0..<5 {
            switch try Self.start(kind) {
            case .success(let started):
                variables = Self.variables(started.output)
                folder = started.folder
                return
            case .failure(let errors): failure = errors
            }
        }
        throw failure
    }

    private static func start(_ kind: Kind) throws -> Result<
        (output: String, folder: String), TestFailure
    > {
        let folder = try Files.makeFolder("blobd-\(kind)")
        try guardFolder(folder)
        let (end, output, errors) = try run([
            "timeout", "-s", "KILL", "900", script, "start", kind.rawValue, folder,
            "\(try freePort())",
        ])
        guard end == .exited(0) else {
            return .failure(TestFailure("\(kind) did not start: \(errors)"))
        }
        return .success((String(decoding: output, as: UTF8.self), folder))
    }

    /// Has the server answer nothing, and keep its connections, until ``resume()``.
    public func pause() { signal(SIGSTOP) }

    /// Has the server go on.
    public func resume() { signal(SIGCONT) }

    private func signal(_ number: Int32) {
        let text = Files.text("\(folder)/\(kind.rawValue).pid")
        guard let pid = text.split(separator: " ").first.flatMap({ pid_t($0) }) else { return }
        kill(pid, number)
    }

    /// A port below those that the kernel gives to clients, that is free with the next one: RGW's monitor has that.
    public static func freePort() throws -> UInt16 {
        for _ in 0..<1_000 {
            let port = UInt16.random(in: 10_000..<30_000)
            if isFree(port) && isFree(port + 1) { return port }
        }
        throw TestFailure("no free ports")
    }

    private static func variables(_ output: String) -> [String: String] {
        var variables: [String: String] = [:]
        for line in output.split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
        }
        return variables
    }

    /// Stops the server and removes its folder when this process ends, however it does: the end of a socket that it
    /// alone holds is what the other process waits for.
    private static func guardFolder(_ folder: String) throws {
        let (theirs, _) = try makeSocketPair()
        defer { close(theirs) }
        _ = try spawn(
            ["setsid", "/bin/sh", "-c", "cat; \"$0\" stop \"$1\"; rm -rf \"$1\"", script, folder],
            input: theirs)
    }
}
