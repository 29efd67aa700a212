import Glibc
import Synchronization
import TestSupport

/// A proxy before an object server, whose answers come as late as it is told.
final class SlowProxy: Sendable {
    private let server: ScriptedServer
    private let delay: Late

    private final class Late: Sendable {
        let milliseconds = Atomic(0)
    }

    /// - Parameter port: where the server is, on 127.0.0.1.
    init(to port: UInt16) throws {
        let delay = Late()
        self.delay = delay
        server = try ScriptedServer { request in
            let answer = forward(request, to: port)
            Clock.pause(microseconds: delay.milliseconds.load(ordering: .relaxed) * 1_000)
            return answer.isEmpty ? [.close] : [.send(answer), .close]
        }
    }

    /// The address that daemons have it by.
    var url: String { server.url }

    /// Every answer from now on comes so late.
    func answer(afterMilliseconds milliseconds: Int) {
        delay.milliseconds.store(milliseconds, ordering: .relaxed)
    }
}
