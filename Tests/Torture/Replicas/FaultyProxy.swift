import Glibc
import Synchronization
import TestSupport

/// A proxy in front of an object server. A rule decides what becomes of each request.
final class FaultyProxy: Sendable {
    /// What becomes of a request.
    enum Fault: Sendable {
        /// It is forwarded; its answer is sent after so many milliseconds.
        case late(Int)
        /// It is answered with these steps, and the server does not see it.
        case answered([ScriptedServer.Step])
        /// It is forwarded; half of its answer is sent.
        case truncated
        /// It is neither forwarded nor answered until another rule holds; then its connection is closed.
        case hangs
    }

    /// Nil: the request is forwarded, and its answer is sent at once.
    typealias Rule = @Sendable (ScriptedServer.Request) -> Fault?

    private final class Shared: Sendable {
        let rule = Mutex<Rule> { _ in nil }
        /// Counts the rules that were set.
        let generation = Atomic(0)
    }

    private let server: ScriptedServer
    private let shared: Shared

    /// - Parameter port: where the server is, on 127.0.0.1.
    init(to port: UInt16) throws {
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
                Clock.pause(microseconds: milliseconds * 1_000)
                steps = [.send(answer)]
            case .answered(let wanted): steps = wanted
            case .truncated:
                let answer = forward(request, to: port)
                steps = [.send(Array(answer.prefix(answer.count / 2)))]
            case .hangs:
                while shared.generation.load(ordering: .acquiring) == generation {
                    Clock.pause(microseconds: 20_000)
                }
            }
            return steps + [.close]
        }
    }

    /// The address that daemons have it by.
    var url: String { server.url }

    /// How many requests have come.
    var requestCount: Int { server.requestCount }

    /// Treats all requests by another rule from now on.
    func set(_ rule: @escaping Rule) {
        shared.rule.withLock { $0 = rule }
        shared.generation.add(1, ordering: .releasing)
    }

    /// Treats all requests alike from now on.
    func set(_ fault: Fault?) { set { _ in fault } }
}

extension ScriptedServer.Request {
    /// Whether it asks for a long payload.
    var isForBlob: Bool { method == "GET" && target.contains("/blob/") }
}
