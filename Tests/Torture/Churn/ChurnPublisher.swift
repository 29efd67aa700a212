import BlobClient
import BlobProtocol
import TestSupport

/// What readers have in common, or publishers.
struct ChurnSurroundings: Sendable {
    var socket: String
    let ledger: EditionLedger
    let figures: ChurnFigures
    var lives: DaemonLives
    let stop: StopSign
    let publisherCount: Int
    /// How long a reader stops, in milliseconds.
    let pauses: ClosedRange<Int>
    /// Whether now and then a byte is changed after it was received, as a test of the test.
    let spoils: Bool
}

/// One of several publishers: replaces and deletes notifications that are its own, as fast as the
/// daemon takes it.
struct ChurnPublisher: Sendable {
    private let number: Int
    private let around: ChurnSurroundings
    private var generator: SeededGenerator

    init(number: Int, _ around: ChurnSurroundings) {
        self.number = number
        self.around = around
        generator = SeededGenerator(seed: around.ledger.seed, thread: 2_000 + number)
    }

    /// The notifications that are this publisher's.
    private var ids: [Int] {
        Array(stride(from: number, to: around.ledger.idCount, by: around.publisherCount))
    }

    /// Publishes the first edition of each.
    func fill() throws {
        var connection = try BlobConnection.connect(to: around.socket)
        for id in ids { try change(id, &connection) }
    }

    /// Changes one after the other until the others stop. A connection that a killed daemon leaves
    /// is made anew, and so is one that looked idle because this thread did not run.
    mutating func work() throws {
        let ids = ids
        while !around.stop.isUp {
            let life = around.lives.now
            var changedAt = Clock.milliseconds()
            do {
                var connection = try BlobConnection.connect(to: around.socket)
                while !around.stop.isUp {
                    changedAt = Clock.milliseconds()
                    try change(ids[Int.random(in: 0..<ids.count, using: &generator)], &connection)
                }
            } catch let error as ClientError {
                switch error {
                case .closed, .io, .noDaemon:
                    let silence = Clock.milliseconds() - changedAt
                    try require(
                        !around.lives.isSame(as: life)
                            || silence >= ChurnScenario.idleMilliseconds / 2,
                        "publisher \(number) was cut off: \(error)")
                    Clock.pause(microseconds: 1_000)
                case .refused(let problem)
                where problem.code == "stopping" && !around.lives.isSame(as: life):
                    Clock.pause(microseconds: 1_000)
                default:
                    throw TestFailure("publisher \(number): \(error)")
                }
            }
        }
    }

    /// Brings the next edition of a notification about.
    private func change(_ id: Int, _ connection: inout BlobConnection) throws {
        let edition = around.ledger.issue(id)
        if edition.isDeletion {
            do throws(ClientError) {
                try connection.call(.delete(edition.name))
            } catch {
                switch error {
                case .notFound, .expired: break
                default: throw error
                }
            }
            around.figures.add(.deleted)
        } else {
            guard try publish(edition, &connection) else { return }
        }
        around.ledger.acknowledge(edition)
    }

    /// Stores an edition. Returns false when its short life was over before the daemon, which has
    /// much to do, came to it: the one before is then still there.
    private func publish(_ edition: Edition, _ connection: inout BlobConnection) throws -> Bool {
        let bytes = edition.payload.bytes()
        let request = PutRequest(
            id: edition.name, mediaType: edition.mediaType,
            lifetime: .seconds(edition.lifetimeSeconds))
        do throws(ClientError) {
            let receipt = try connection.put(request, bytes.span.bytes)
            around.figures.add(.published)
            around.figures.add(.publishedMebibytes, Int(receipt.storedByteCount))
            return true
        } catch {
            guard case .refused(let problem) = error, problem.code == "bad_expiry",
                edition.mayBeAbsent
            else { throw error }
            around.figures.add(.overtaken)
            return false
        }
    }
}
