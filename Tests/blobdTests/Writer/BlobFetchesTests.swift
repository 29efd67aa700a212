import Bytes
import Notifications
import Testing

@testable import BlobServer
@testable import BlobStore

/// Who waits for payloads from the bucket, and which of them are fetched. No sockets, no bucket.
@Suite struct BlobFetchesTests {
    private let inbox: WorkerInbox
    private let connection: ConnectionAddress
    private let fetches: BlobFetches

    init() throws {
        inbox = try WorkerInbox()
        connection = ConnectionAddress(
            inbox: inbox, token: ConnectionToken(slot: 1, generation: 1))
        fetches = try BlobFetches(threadCount: 1)
    }

    private func blob(_ number: UInt64) throws -> BlobReference {
        let digest = try #require(Digest("sha256:" + String(repeating: "0a", count: 32)))
        return BlobReference(
            digest: digest, number: number, byteCount: 100_000, storedByteCount: 100_000,
            coding: .identity)
    }

    /// While the bucket was slow each payload was fetched for requests that had been answered long ago, before those
    /// that somebody waited for.
    @Test("A request that nobody waits for any more is not fetched, nor is one twice at a time")
    func dropped() throws {
        let begin = Instant.now
        for number in 1...3 { fetches.want(try blob(UInt64(number)), for: connection, asOf: begin) }
        #expect(fetches.next()?.number == 1)
        let later = begin.after(milliseconds: BlobFetches.waitMilliseconds)
        fetches.expire(asOf: later)
        #expect(inbox.takeAll().count == 3)
        // The first one is being fetched still.
        fetches.want(try blob(1), for: connection, asOf: later)
        fetches.want(try blob(4), for: connection, asOf: later)
        #expect(fetches.next()?.number == 4)
        fetches.finish(try blob(1), nil, asOf: later)
        #expect(inbox.takeAll().count == 1)
        // Asked for again, the second is fetched.
        fetches.want(try blob(2), for: connection, asOf: later)
        #expect(fetches.next()?.number == 2)
    }

    /// They were only forgotten where somebody asked for the same payload again.
    @Test("Failures are forgotten when they are over")
    func failures() throws {
        let begin = Instant.now
        for number in 1...100 {
            let blob = try blob(UInt64(number))
            fetches.want(blob, for: connection, asOf: begin)
            #expect(fetches.next() == blob)
            fetches.finish(blob, "away", asOf: begin)
        }
        #expect(fetches.failureCount == 100)
        #expect(fetches.refusal(of: try blob(1), asOf: begin) == "away")
        let later = begin.after(milliseconds: BlobFetches.retryMilliseconds)
        fetches.expire(asOf: later)
        #expect(fetches.failureCount == 0)
        #expect(fetches.refusal(of: try blob(1), asOf: later) == nil)
    }
}
