import Bytes
import TestSupport
import Testing
import Zlib

@testable import BlobStore

/// A hundred bytes from the end of a 64 MiB gzip took a tenth of a second of processor: all before
/// them was inflated. Now inflating may begin at each MiB.
@Suite struct RestartPointTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore
    private static let interval = StoreLimits.restartIntervalByteCount

    init() throws { store = try folder.open { $0.mapByteCountMax = 1 << 30 } }

    /// Text that shrinks by half, about, and is the same nowhere.
    private static func text(_ byteCount: Int, seed: UInt64) -> [UInt8] {
        var random = SeededGenerator(seed: seed)
        var text: [UInt8] = []
        text.reserveCapacity(byteCount + 16)
        while text.count < byteCount {
            var word = random.next()
            for _ in 0..<16 {
                text.append(0x61 + UInt8(word & 15))
                word >>= 4
            }
        }
        return Array(text.prefix(byteCount))
    }

    private func blob(of id: String) throws -> BlobReference {
        try #require(try store.record(for: id, asOf: noon)).parts[0].blob
    }

    /// Where inflating for `position` begins.
    private func start(_ blob: BlobReference, before position: Int) throws -> Int {
        try store.withSnapshot { (snapshot) throws(StoreError) in
            try Inflater(blob, before: position, in: snapshot).position
        }
    }

    /// Stores bytes that are coded already.
    private func put(_ id: String, _ text: [UInt8], coded: [UInt8]) throws {
        let prepared = try store.prepare(text)
        let content = StoredContent.memory(coded)
        let payload = PreparedPayload(
            digest: prepared.digest, byteCount: text.count, coding: .gzip,
            mediaType: "text/plain", content: content)
        try store.publish(
            Publication(id: id, payload: payload, expiry: .at(noon.adding(seconds: 60))),
            asOf: noon)
    }

    @Test(
        "Any range costs at most one interval, and has the right bytes",
        arguments: [(0, 1), (1, -1), (1, 0), (1, 1), (2, 0), (3, 77_777)])
    func ranges(intervals: Int, more: Int) throws {
        let seed = testSeed(24)
        let byteCount = intervals * Self.interval + more
        let text = Self.text(max(byteCount, 4_096), seed: seed)
        try store.put("text", text, mediaType: "text/plain")
        let blob = try blob(of: "text")
        #expect(blob.coding == .gzip)
        var random = SeededGenerator(seed: seed)
        var positions = (0..<12).map { _ in Int(random.next() % UInt64(text.count)) }
        for point in stride(from: 0, to: text.count, by: Self.interval) {
            positions += [point - 1, point, point + 1].filter { $0 >= 0 && $0 < text.count }
        }
        positions.append(text.count - 1)
        for position in positions {
            let start = try start(blob, before: position)
            #expect(start <= position && position - start < Self.interval, "seed \(seed)")
            let end = min(text.count, position + Int(random.next() % 200_000) + 1)
            let read = try store.ownedPayload(for: "text", asOf: noon, range: position..<end)
            #expect(read == Array(text[position..<end]), "seed \(seed), \(position)..<\(end)")
        }
        #expect(try store.ownedPayload(for: "text", asOf: noon) == text)
        #expect(try store.verify().problems == [])
    }

    @Test("The points stand in the gzip header, where every reader of gzip passes over them")
    func header() throws {
        let text = Self.text(2 * Self.interval + 5, seed: 1)
        try store.put("text", text, mediaType: "text/plain")
        let bytes = try store.storedBytes(of: blob(of: "text"))
        #expect(Array(bytes[0..<4]) == [0x1F, 0x8B, 8, 4])
        #expect(Array(bytes[8..<16]) == [0, 3, 20, 0, 0x62, 0x64, 16, 0])
        let offsets = [16, 24].map { bytes.span.bytes.integer($0, as: UInt64.self) }
        #expect(offsets[0] > 32 && offsets[0] < offsets[1] && offsets[1] < bytes.count)
        // The end of a full flush: an empty block that is stored.
        for offset in offsets {
            #expect(Array(bytes[Int(offset) - 4..<Int(offset)]) == [0, 0, 0xFF, 0xFF])
        }
        #expect(try store.ownedPayload(for: "text", asOf: noon) == text)
    }

    @Test("What was stored without points is inflated from its beginning")
    func without() throws {
        let text = Self.text(2 * Self.interval + 5, seed: 2)
        let deflater = try Deflater()
        var coded: [UInt8] = []
        try deflater.deflate(text.span.bytes, .none, into: &coded)
        try deflater.deflate(RawSpan(), .finish, into: &coded)
        try put("old", text, coded: coded)
        let blob = try blob(of: "old")
        #expect(try start(blob, before: text.count - 1) == 0)
        let range = Self.interval + 7..<Self.interval + 100_000
        #expect(try store.ownedPayload(for: "old", asOf: noon, range: range) == Array(text[range]))
        #expect(try store.verify().problems == [])
    }

    @Test("An invalid point is refused, and one at another place is found by verify")
    func damaged() throws {
        let text = Self.text(2 * Self.interval + 5, seed: 3)
        try store.put("right", text, mediaType: "text/plain")
        let right = try store.storedBytes(of: blob(of: "right"))
        try store.delete("right", asOf: noon)
        let second = right.span.bytes.integer(24, as: UInt64.self)
        let cases: [(UInt64, Bool)] = [
            (0, true), (31, true), (UInt64(right.count - 8), true), (.max, true),
            (second, false), (second - 9, false), (second + 1, false),
        ]
        for (offset, isRefused) in cases {
            var coded = right
            withUnsafeBytes(of: offset.littleEndian) { word in
                for (index, byte) in word.enumerated() { coded[16 + index] = byte }
            }
            try put("wrong", text, coded: coded)
            let range = Self.interval..<Self.interval + 10
            if isRefused {
                do throws(StoreError) {
                    _ = try store.ownedPayload(for: "wrong", asOf: noon, range: range)
                    Issue.record("\(offset) was taken for a place")
                } catch {
                    guard case .corrupt = error else { throw error }
                }
            }
            // From its beginning it is right all the same.
            #expect(try store.ownedPayload(for: "wrong", asOf: noon) == text)
            let report = try store.verify()
            #expect(report.problemCount == 1, "\(offset): \(report.problems)")
            let words = isRefused ? "restart point 1 of" : "does not inflate"
            #expect(report.problems.first?.contains(words) == true, "\(report.problems)")
            try store.delete("wrong", asOf: noon)
            _ = try store.freeOrphans(byteCountMax: 1 << 30)
        }
    }

    @Test("From 8 GiB on the points are further apart, so that the field holds them")
    func many() {
        #expect(RestartPoints(byteCount: 0).count == 0)
        #expect(RestartPoints(byteCount: Self.interval).count == 0)
        #expect(RestartPoints(byteCount: Self.interval + 1).count == 1)
        #expect(RestartPoints(byteCount: 64 << 20).count == 63)
        let most = RestartPoints(byteCount: 8_192 * Self.interval)
        #expect(most.count == 8_191 && most.interval == Self.interval)
        #expect(most.emptyField.count == 65_532)
        let more = RestartPoints(byteCount: 8_192 * Self.interval + 1)
        #expect(more.interval == 2 * Self.interval && more.count == 4_096)
        let largest = RestartPoints(byteCount: StoreLimits.payloadByteCountMax)
        #expect(largest.count <= 8_191 && largest.interval == 8 * Self.interval)
    }
}
