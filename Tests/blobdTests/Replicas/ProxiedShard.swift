import Foundation
import ObjectStore
import TestSupport

/// A prefix of moto's bucket, and a proxy before it that changes answers while a test wants it to.
final class ProxiedShard: Sendable {
    /// Answers a request in the bucket's place; nil: it is passed on.
    typealias Fault = @Sendable (ScriptedServer.Request) -> [ScriptedServer.Step]?

    /// `s3://test/…`.
    let url: String
    /// The part of the path after the bucket.
    let prefix: String
    private let port: UInt16
    private let proxy: FaultyProxy
    private let variables: [String: String]

    /// - Parameters:
    ///   - prefix: nil: one that no other test has.
    ///   - isDirect: whether its daemons ask the bucket itself, which is quicker.
    init(_ prefix: String? = nil, isDirect: Bool = false) throws {
        let moto = try ObjectServer.shared(.moto)
        let prefix = prefix ?? "bad-\(UInt64.random(in: .min ... .max))"
        self.prefix = prefix
        url = "s3://test/\(prefix)"
        port = moto.port
        proxy = try FaultyProxy(to: port)
        let endpoint = isDirect ? [:] : ["AWS_ENDPOINT_URL": proxy.url]
        variables = moto.variables.merging(endpoint) { $1 }
    }

    /// Answers otherwise from now on.
    func fail(_ fault: @escaping Fault) {
        proxy.set { request in fault(request).map { .answered($0) } }
    }

    /// Takes a header out of all requests from now on.
    func drop(header: String) { proxy.set(.without(header)) }

    /// Passes everything on from now on.
    func mend() { proxy.set(nil) }

    /// What the bucket answers.
    func pass(_ request: ScriptedServer.Request) -> [UInt8] { forward(request, to: port) }

    /// How often a long payload was asked for.
    var blobGets: Int { proxy.requests.count(where: \.isForBlob) }

    /// Waits until somebody asks.
    func waitForRequest() throws { try proxy.waitForRequests(1) }

    // MARK: - Processes

    /// Starts a daemon that reaches the bucket through the proxy.
    func daemon(
        _ arguments: [String], in folder: TemporaryFolder? = nil,
        _ more: [String: String] = [:]
    ) throws -> DaemonProcess {
        let exports = variables.merging(more) { $1 }.map { "export \($0)='\($1)'; " }.joined()
        return try DaemonProcess(arguments, in: folder, shell: exports)
    }

    func leader(
        in folder: TemporaryFolder? = nil, _ more: String...
    ) throws -> DaemonProcess {
        try daemon(["--replicate", url, "--advertise", "host-a"] + more, in: folder)
    }

    func follower(
        in folder: TemporaryFolder? = nil, _ more: String...
    ) throws -> DaemonProcess {
        try daemon(["--follow", url, "--advertise", "host-b"] + more, in: folder)
    }

    /// The exit code and the log of a daemon that does not get ready.
    func refusal(
        _ arguments: [String], in folder: TemporaryFolder? = nil
    ) throws -> (status: Int32, log: String) {
        do {
            let daemon = try daemon(arguments, in: folder)
            throw TestFailure("it is ready: \(daemon.log)")
        } catch let failure as DaemonProcess.StartFailure {
            return (failure.status, failure.log)
        }
    }

    /// Starts a daemon and does not wait until it is ready.
    func unready(_ arguments: [String], in folder: TemporaryFolder) throws -> pid_t {
        try spawn(
            [
                DaemonProcess.program, "serve", "--data", "\(folder)/data", "--socket",
                "\(folder)/s",
            ] + arguments, errors: .file("\(folder)/log"), environment: variables)
    }

    /// Runs a command of `blobd` that asks the bucket.
    func command(_ arguments: String...) throws -> CommandResult { try command(arguments) }

    /// The same.
    func command(_ arguments: [String]) throws -> CommandResult {
        let (end, output, errors) = try run(
            [DaemonProcess.program] + arguments, environment: variables)
        return CommandResult(status: end.code, output: output, errors: errors)
    }

    // MARK: - Objects, past the proxy

    private func client() throws -> ObjectClient {
        let direct = try ObjectServer.shared(.moto).variables
        return try ObjectBucket(url, environment: ProcessEnvironment(direct)).makeClient()
    }

    /// The bytes of an object; nil where there is none.
    func object(_ name: String) throws -> [UInt8]? {
        try client().get(name, byteCountMax: 64 << 20)
    }

    /// Stores an object, whatever is there.
    func put(_ name: String, _ bytes: [UInt8]) throws {
        try client().put(name, bytes.span.bytes)
    }

    /// Removes an object.
    func delete(_ name: String) throws { try client().delete(name) }

    /// All names that begin with a text, up to 1,000.
    func names(_ prefix: String = "") throws -> [String] {
        try client().list(prefix).objects.map(\.key)
    }
}

extension DaemonProcess {
    /// A number of `/v1/replication`.
    func replication(_ name: String) throws -> Int {
        let answer = try request("GET", "/v1/replication")
        guard let number = answer.member(name).flatMap({ Int($0) }) else {
            throw TestFailure("no \(name) in \(answer.text)")
        }
        return number
    }

    /// What it is: `leader`, `follower` …
    func role() throws -> String {
        try request("GET", "/v1/replication").member("role") ?? ""
    }

    /// Publishes; with `replicated` it is acknowledged when it is in the bucket.
    func publish(_ id: String, ack: String = "replicated") throws -> HTTPAnswer {
        try request(
            "PUT", "/v1/notifications/\(id)/payload",
            ["Content-Type": "text/plain", "Blobd-Ack": ack], body: Array(id.utf8))
    }

    /// Fetches what is only in the bucket. A fetch waits for that as long as a busy machine may take: it is tried again.
    func fetched(_ id: String) throws -> HTTPAnswer {
        let patience = Patience()
        while true {
            let answer = try request("GET", "/v1/notifications/\(id)/payload")
            if answer.code != "unavailable" { return answer }
            try patience.wait(orThrow: answer.text)
        }
    }

    /// Whether it has what was published so.
    func has(_ id: String) throws -> Bool {
        try request("GET", "/v1/notifications/\(id)/payload").body == Array(id.utf8)
    }
}
