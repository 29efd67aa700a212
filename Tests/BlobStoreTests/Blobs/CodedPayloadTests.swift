import Bytes
import TestSupport
import Testing

@testable import BlobStore

/// Payloads that come in a gzip coding: what is inside counts, and they are stored as they came where
/// that pays.
@Suite struct CodedPayloadTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    private static func prepare(
        _ store: BlobStore, _ coded: [UInt8], mediaType: String = "application/octet-stream",
        step: Int = .max
    ) throws -> PreparedPayload {
        var writer = store.makePayloadWriter(coding: .gzip)
        var index = 0
        while index < coded.count {
            let end = index + min(step, coded.count - index)
            let piece = Array(coded[index..<end])
            try writer.append(piece.span.bytes)
            index = end
        }
        #expect(writer.byteCount == coded.count)
        return try writer.finish(mediaType: mediaType)
    }

    private static func field(_ body: () throws -> Void) -> InvalidInput.Field? {
        do {
            try body()
            return nil
        } catch StoreError.invalid(let input) {
            return input.field
        } catch {
            return nil
        }
    }

    /// Publishes it and reads all of it, and some ranges.
    private static func check(
        _ store: BlobStore, _ payload: PreparedPayload, is bytes: [UInt8]
    ) throws {
        #expect(payload.byteCount == bytes.count)
        let id = "\(payload.digest)"
        _ = try store.publish(
            Publication(id: id, payload: payload, expiry: .at(noon.adding(seconds: 60))),
            asOf: noon)
        let plain = try store.prepare(bytes)
        #expect(payload.digest == plain.digest)
        #expect(try store.ownedPayload(for: id, asOf: noon) == bytes)
        for range in [0..<1, 0..<bytes.count, bytes.count / 2..<bytes.count] where !bytes.isEmpty {
            let read = try store.ownedPayload(for: id, asOf: noon, range: range)
            #expect(read == Array(bytes[range]))
        }
    }

    @Test(
        "One member that saves a tenth is stored as it came, however it came",
        arguments: [1, 7, Int.max])
    func asSent(step: Int) throws {
        let bytes = shrinkingText(500)
        let coded = gzipped(bytes)
        // A type that is not compressed here: the client's coding is kept all the same.
        let payload = try Self.prepare(store, coded, step: step)
        #expect(payload.coding == .gzip && payload.storedByteCount == coded.count)
        try Self.check(store, payload, is: bytes)
        let record = try #require(try store.record(for: "\(payload.digest)", asOf: noon))
        #expect(try store.storedBytes(of: record.parts[0].blob) == coded)
        #expect(try store.verify().problems == [])
    }

    @Test("What does not qualify is stored like any other payload")
    func inflated() throws {
        var generator = SeededGenerator(seed: 91)
        let noise = generator.bytes(300_000)
        let halves = (shrinkingText(100), shrinkingText(300))
        let cases: [(String, [UInt8], [UInt8], Coding)] = [
            ("noise", gzipped(noise), noise, .identity),
            ("empty", gzipped([]), [], .identity),
            ("short", gzipped(shrinkingText(2)), shrinkingText(2), .identity),
            (
                "two members", gzipped(halves.0) + gzipped(halves.1),
                halves.0 + halves.1, .identity
            ),
        ]
        for (name, coded, bytes, coding) in cases {
            let payload = try Self.prepare(store, coded)
            #expect(payload.coding == coding, "\(name)")
            try Self.check(store, payload, is: bytes)
        }
        // Of a type that is compressed, in one member of the store's own.
        let payload = try Self.prepare(
            store, gzipped(halves.1) + gzipped(halves.0), mediaType: "text/plain")
        #expect(payload.coding == .gzip)
        try Self.check(store, payload, is: halves.1 + halves.0)
        #expect(try store.verify().problems == [])
    }

    @Test("A long one goes through files, coded and inflated")
    func long() throws {
        let bytes = shrinkingText(90_000)
        #expect(bytes.count > StoreLimits.storedAsSentByteCountMax)
        let payload = try Self.prepare(store, gzipped(bytes), step: 10_000)
        try Self.check(store, payload, is: bytes)
        #expect(try store.verify().problems == [])
    }

    @Test("Damaged, cut short, or followed by something else: nothing is stored")
    func damaged() throws {
        let bytes = shrinkingText(50)
        let coded = gzipped(bytes)
        for count in 0..<coded.count {
            #expect(
                Self.field { _ = try Self.prepare(store, Array(coded[..<count])) }
                    == .contentCoding, "cut at \(count)")
        }
        for rest: [UInt8] in [[0], [0x1F], [0x1F, 0x8B], Array("garbage".utf8), [0, 0, 0, 0]] {
            #expect(
                Self.field { _ = try Self.prepare(store, coded + rest) } == .contentCoding)
        }
        // A flipped bit is seen, or changes nothing (the header has fields without a meaning).
        var generator = SeededGenerator(seed: 92)
        for _ in 0..<300 {
            var flipped = coded
            let place = Int(generator.next() % UInt64(coded.count))
            flipped[place] ^= 1 << UInt8(generator.next() % 8)
            do {
                let payload = try Self.prepare(store, flipped)
                #expect(payload.byteCount == bytes.count)
                #expect(payload.digest == (try store.prepare(bytes)).digest, "seed 92, \(place)")
            } catch StoreError.invalid(let input) {
                #expect(input.field == .contentCoding)
            }
        }
        for _ in 0..<300 {
            let rubbish = generator.bytes(Int(generator.next() % 400))
            let head: [UInt8] =
                generator.next() % 2 == 0 ? [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3] : []
            #expect(
                Self.field { _ = try Self.prepare(store, head + rubbish) } == .contentCoding)
        }
        #expect(try store.statistics().notifications == 0)
    }

    @Test("The limit is of what is inside, to the byte, and inflating ends there")
    func limit() throws {
        let folder = TemporaryFolder()
        let store = try folder.open { $0.payloadByteCountMax = 100_000 }
        var generator = SeededGenerator(seed: 93)
        // Noise gets longer by its coding, and is taken nevertheless.
        for bytes in [generator.bytes(100_000), [UInt8](repeating: 7, count: 100_000)] {
            let payload = try Self.prepare(store, gzipped(bytes))
            try Self.check(store, payload, is: bytes)
            let more = gzipped(bytes + [1])
            #expect(Self.field { _ = try Self.prepare(store, more) } == .payload)
        }
        // 30 KB that would be 30 MB: no more of it is looked at than the limit.
        let bomb = gzipped([UInt8](repeating: 0, count: 30_000_000))
        #expect(Self.field { _ = try Self.prepare(store, bomb) } == .payload)
        let decoder = try GzipDecoder(byteCountMax: 100_000)
        var count = 0
        #expect(throws: StoreError.self) {
            try decoder.decode(bomb.span.bytes) { count += $0.byteCount }
        }
        #expect(count <= 100_000)
        // Many members, each of which has nothing inside.
        let empty = gzipped([])
        var members: [UInt8] = []
        while members.count + empty.count <= 100_000 { members += empty }
        try Self.check(store, try Self.prepare(store, members), is: [])
        // More bytes than any coding of 100,000 needs.
        let long = [UInt8](repeating: 1, count: StoreLimits.codedByteCountMax(for: 100_000) + 1)
        #expect(Self.field { _ = try Self.prepare(store, long) } == .payload)
    }
}
