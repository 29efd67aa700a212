import BlobStore
import Testing

@testable import BlobServer
@testable import blobd

/// How what waits for the writer is cut into batches.
@Suite struct ChangeBatchTests {
    private enum Asked {
        case change(String)
        case lines([String])
        case waitForCommit
        case check
    }

    private static func batch(_ asked: [Asked]) throws -> ChangeBatch {
        let inbox = try WorkerInbox()
        var batch = ChangeBatch()
        for one in asked {
            let operation: PendingChange.Operation =
                switch one {
                case .change(let id): .apply(.delete(id: id))
                case .lines(let ids):
                    .applyAll(
                        ids.map { .delete(id: $0) }, ids.map { BatchLine(id: $0) },
                        BatchResults(pieceCount: 1))
                case .waitForCommit: .waitForCommit
                case .check: .checkWritable
                }
            batch.append(
                PendingChange(
                    operation: operation,
                    connection: ConnectionAddress(inbox: inbox, token: .worker), reservation: nil))
        }
        return batch
    }

    private static func ids(_ batch: ChangeBatch) -> [String] {
        batch.changes.map { change in
            if case .delete(let id) = change.change { id } else { "?" }
        }
    }

    /// Their GETs were closed without an answer when another client's change was refused alongside them.
    @Test("Who waits for a commit waits on where the changes of the batch are refused")
    func refused() throws {
        let batch = try Self.batch([.waitForCommit, .change("a"), .waitForCommit, .check])
        let inbox = batch.waiters[0].connection.inbox
        batch.refuse(with: .applied(.notFound))
        #expect(inbox.takeAll().count == 2)
    }

    /// A question was once counted as a change: the changes after the cut then went to other waiters, and
    /// each was told what had become of another's.
    @Test("Each part of a batch has just the changes of those who wait in it")
    func cut() throws {
        let asked: [Asked] = [
            .waitForCommit, .change("a"), .check, .lines(["b", "c"]), .waitForCommit, .change("d"),
            .check,
            .change("e"),
        ]
        for countMax in 1...9 {
            var rest = try Self.batch(asked)
            var all: [String] = []
            var waiterCount = 0
            while !rest.waiters.isEmpty {
                let part = rest.take(countMax)
                let wanted = part.waiters.reduce(0) { $0 + $1.completion.changeCount }
                #expect(part.changes.count == wanted, "at most \(countMax)")
                #expect(!part.waiters.isEmpty)
                all += Self.ids(part)
                waiterCount += part.waiters.count
            }
            #expect(rest.changes.isEmpty)
            #expect(all == ["a", "b", "c", "d", "e"] && waiterCount == asked.count)
        }
    }
}
