import BlobProtocol
import BlobStore
import TestSupport
import Testing

@testable import BlobServer
@testable import blobd

/// What a body reserves, from its first byte to its last. No sockets.
@Suite struct UploadMemoryTests {
    private let folder: TemporaryFolder
    private let store: BlobStore
    private let inbox: WorkerInbox
    private let memory = BodyMemory(
        BodyMemory.Limits(byteCountMax: 4 << 20, spoolCountMax: 2))

    init() throws {
        folder = TemporaryFolder()
        store = try BlobStore.open(at: folder.path)
        inbox = try WorkerInbox()
    }

    private func upload(
        _ count: Int, as kind: BodyPlan.Kind = .batch, coding: BodyCoding = .identity
    ) -> Upload {
        let form = HTTPForm(keepAlive: true, isHTTP10: false, isHead: false)
        let upload = Upload(
            BodyPlan(kind: kind, coding: coding, byteCountMax: 8 << 20),
            framing: .counted(UInt64(count)),
            form: .http(form, RequestEntry(operation: .publish, startedAt: .now)))
        let address = ConnectionAddress(
            inbox: inbox, token: ConnectionToken(slot: 1, generation: 1))
        upload.begin(
            store, BodyReservation(of: memory, Peer(userID: 1), for: address), asOf: .now)
        return upload
    }

    /// Takes in some more bytes, for which there must be room.
    private func receive(_ upload: Upload, _ count: Int) throws {
        #expect(try upload.makeRoom(for: count) == nil)
        let bytes = [UInt8](repeating: 0x20, count: count)
        let used = try upload.receive(bytes.span.bytes)
        #expect(used == count)
    }

    @Test(
        "A body that is whole reserves its length, a longer one what has come, twice as much each time"
    )
    func pieces() throws {
        let whole = upload(300)
        try receive(whole, 300)
        #expect(whole.isWhole && whole.reservedByteCount == 300)
        let short = upload(1_100)
        try receive(short, 1)
        #expect(!short.isWhole && short.reservedByteCount == 1_024)
        try receive(short, 1_099)
        #expect(short.reservedByteCount == 1_100)
        let long = upload(1 << 20)
        for (count, reserved) in [(1, 1_024), (1_023, 1_024), (1, 2_048), (60_000, 65_536)] {
            try receive(long, count)
            #expect(long.reservedByteCount == reserved)
        }
    }

    @Test("From 128 KiB on a body is in a file, and a document is read back under a reservation")
    func spooled() throws {
        let batch = upload(200_000)
        for _ in 0..<4 { try receive(batch, 50_000) }
        let isSpooled = batch.content.isSpooled
        let held = batch.content.heldByteCount
        #expect(batch.isComplete && isSpooled && held == 0)
        #expect(batch.reservedByteCount == Upload.pieceByteCountMin)
        #expect(memory.spoolCountTaken == 1)
        #expect(batch.makeRoomToFinish() == nil)
        #expect(batch.reservedByteCount == 200_000)
        batch.abandon()
        #expect(memory.byteCountReserved == 0 && memory.spoolCountTaken == 0)
    }

    @Test("Without a file to go to a long body waits for one")
    func noFile() throws {
        let first = upload(200_000)
        let second = upload(200_000)
        let third = upload(200_000)
        for body in [first, second] {
            for _ in 0..<3 { try receive(body, 50_000) }
        }
        try receive(third, 50_000)
        try receive(third, 50_000)
        let need = try third.makeRoom(for: 50_000)
        #expect(need == BodyMemory.Need(byteCount: nil, kind: .long, takesSpool: true))
        first.abandon()
        try receive(third, 50_000)
        let isSpooled = third.content.isSpooled
        #expect(isSpooled)
        second.abandon()
        third.abandon()
        #expect(memory.byteCountReserved == 0 && memory.spoolCountTaken == 0)
    }

    @Test("A body in gzip reserves what a short payload inside may take before it is decoded")
    func coded() throws {
        let bytes = [UInt8](repeating: 1, count: 32)
        let made = Digest(bytes: bytes.span.bytes)
        let digest = try #require(made)
        let kind = BodyPlan.Kind.payload(
            .hold(digest, ttlSeconds: 60, mediaType: "text/plain"))
        let coded = upload(300, as: kind, coding: .gzip)
        try receive(coded, 300)
        #expect(coded.makeRoomToFinish() == nil)
        #expect(coded.reservedByteCount == 300 + StoreLimits.payloadInMemoryByteCountMax)
    }

    @Test("A batch in gzip reserves what it can become, and no more than a batch may be")
    func codedBatch() throws {
        let short = upload(300, coding: .gzip)
        try receive(short, 300)
        #expect(short.makeRoomToFinish() == nil)
        #expect(short.reservedByteCount == 300 + 300 * Upload.inflationRatioMax)
        short.abandon()
        let long = upload(20_000, coding: .gzip)
        try receive(long, 20_000)
        #expect(long.makeRoomToFinish() == nil)
        // More than long bodies may have here: all of that.
        #expect(20_000 + WireLimits.batchByteCountMax > 2 << 20)
        #expect(long.reservedByteCount == 2 << 20)
        long.abandon()
    }
}
