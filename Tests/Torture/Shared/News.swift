import BlobClient
import Synchronization
import TestSupport

/// What was published last by any of several publishers, for readers who want it at once.
final class News: Sendable {
    private let id = Mutex<String?>(nil)

    func note(_ id: String) { self.id.withLock { $0 = id } }

    /// Fetches it again and again. Throws when an answer is neither its bytes nor that it is gone.
    func read(at sockets: [String], until stop: StopSign) throws {
        var turn = 0
        while !stop.isUp {
            turn += 1
            guard
                var connection = try? BlobConnection.connect(to: sockets[turn % sockets.count])
            else {
                Clock.pause(microseconds: 20_000)
                continue
            }
            do throws(ClientError) {
                while !stop.isUp {
                    guard let id = id.withLock({ $0 }) else {
                        Clock.pause(microseconds: 1_000)
                        continue
                    }
                    do throws(ClientError) { _ = try connection.get(id) } catch .notFound {}
                }
            } catch {
                switch error {
                case .closed, .io, .noDaemon, .timeout: break
                case .refused(let problem) where problem.status == 503: break
                default: throw TestFailure("a reader of what was just published: \(error)")
                }
            }
        }
    }
}
