import Glibc
import Synchronization

/// A proxy in front of an object server. A rule decides what becomes of each request.
public final class FaultyProxy: Sendable {
    /// What becomes of a request.
    public enum Fault: Sendable {
        /// It is forwarded; its answer is sent after so many milliseconds.
        case late(Int)
        /// It is answered with these steps, and the server does not see it.
        case answered([ScriptedServer.Step])
        /// It is forwarded without a header, whose name is in lower case.
        case without(String)
        /// It is forwarded; its answer is sent as the test changes it.
        case changed(@Sendable ([UInt8]) -> [UInt8])
        /// It is neither forwarded nor answered until another rule holds; then its connection is closed.
        case hangs
    }

    /// Nil: the request is forwarded, and its answer is sent at once.
    public typealias Rule = @Sendable (ScriptedServer.Request) -> Fault?

    private final class Shared: Sendable {
        let rule = Mutex<Rule> { _ in nil }
        /// Counts the rules that were set.
        let generation = Atomic(0)
    }

    private let server: ScriptedServer
    private let shared: Shared

    /// - Parameter port: where the server is, on 127.0.0.1.
    public init(to port: UInt16) throws {
        let shared = Shared()
        self.shared = shared
        server = try ScriptedServer { request in
            let generation = shared.generation.load(ordering: .acquiring)
            let rule = shared.rule.withLock { $0 }
            var steps: [ScriptedServer.Step] = []
            switch rule(request) {
            case nil: steps = [.send(forward(request, to: port))]
            case .late(let milliseconds):
                let answer = forward(request, to: port)
                usleep(UInt32(milliseconds) * 1_000)
                steps = [.send(answer)]
            case .answered(let wanted): steps = wanted
            case .without(let header):
                steps = [.send(forward(request, to: port, leavingOut: [header]))]
            case .changed(let change): steps = [.send(change(forward(request, to: port)))]
            case .hangs:
                while shared.generation.load(ordering: .acquiring) == generation {
                    usleep(20_000)
                }
            }
            return steps + [.close]
        }
    }

    /// The address that daemons have it by.
    public var url: String { server.url }

    /// All requests so far.
    public var requests: [ScriptedServer.Request] { server.requests }

    /// Waits until so many requests have come.
    public func waitForRequests(_ count: Int) throws { try server.waitForRequests(count) }

    /// How many requests have come.
    public var requestCount: Int { server.requestCount }

    /// Treats all requests by another rule from now on.
    public func set(_ rule: @escaping Rule) {
        shared.rule.withLock { $0 = rule }
        shared.generation.add(1, ordering: .releasing)
    }

    /// Treats all requests alike from now on.
    public func set(_ fault: Fault?) { set { _ in fault } }
}

extension ScriptedServer.Request {
    /// Whether it asks for a long payload.
    public var isForBlob: Bool { method == "GET" && target.contains("/blob/") }
}
