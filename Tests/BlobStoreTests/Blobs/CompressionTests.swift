import Bytes
import TestSupport
import Testing
import Zlib

@testable import BlobStore

@Suite struct CompressionTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    @Test(
        "Types that shrink are compressed, others are not looked at",
        arguments: [
            ("text/plain", true), ("TEXT/HTML; charset=utf-8", true), ("application/json", true),
            ("application/problem+json", true), ("image/svg+xml", true), ("image/bmp", true),
            ("image/png", false), ("image/jpeg", false), ("video/mp4", false),
            ("application/octet-stream", false), ("application/zip", false),
            ("x-text/plain", false),
        ])
    func types(type: String, shrinks: Bool) throws {
        let bytes = [UInt8](repeating: 0x61, count: 10_000)
        let part = try store.put("a", bytes, mediaType: type).parts[0]
        #expect(part.coding == (shrinks ? .gzip : .identity))
        #expect(part.byteCount == 10_000)
        #expect((part.storedByteCount < 9_000) == shrinks)
        #expect(try store.ownedPayload(for: "a", asOf: noon) == bytes)
    }

    @Test("What is kept compressed has at most 90 % of the bytes as given, to the byte")
    func ninetyPercent() throws {
        #expect(Compression.byteCountMax(of: 10_000) == 9_000)
        #expect(Compression.byteCountMax(of: 9_999) == 8_999)
        var generator = SeededGenerator(seed: 6)
        // Noise with a growing tail of zeros: the shorter one shrinks by what the tail grows.
        var (longestKept, shortestGiven) = (0, Int.max)
        for zeros in Array(stride(from: 0, to: 1_000, by: 200)) + Array(1_000..<1_100) {
            let bytes = generator.bytes(10_000 - zeros) + [UInt8](repeating: 0, count: zeros)
            var coded: [UInt8] = []
            let deflater = try Deflater()
            try deflater.deflate(bytes.span.bytes, .none, into: &coded)
            try deflater.deflate(RawSpan(), .finish, into: &coded)
            let part = try store.put("\(zeros)", bytes, mediaType: "text/plain").parts[0]
            switch part.coding {
            case .gzip:
                #expect(part.storedByteCount == coded.count)
                longestKept = max(longestKept, coded.count)
            case .identity:
                #expect(part.storedByteCount == 10_000)
                shortestGiven = min(shortestGiven, coded.count)
            }
            #expect(try store.ownedPayload(for: "\(zeros)", asOf: noon) == bytes)
        }
        #expect(longestKept <= 9_000 && longestKept > 8_990)
        #expect(shortestGiven > 9_000 && shortestGiven < 9_010)
    }

    @Test("Short payloads are stored as given")
    func short() throws {
        for (count, coding) in [(0, Coding.identity), (127, .identity), (128, .gzip)] {
            let bytes = [UInt8](repeating: 0x61, count: count)
            let part = try store.put("\(count)", bytes, mediaType: "text/plain").parts[0]
            #expect(part.coding == coding, "\(count) bytes")
        }
    }

    @Test("The stored bytes are a gzip member that any other program can read")
    func gzip() throws {
        let text = Array(String(repeating: "one line of text\n", count: 40_000).utf8)
        let blob = try store.put("a", text, mediaType: "text/plain").parts[0].blob
        let stored = try store.storedBytes(of: blob)
        #expect(stored.count == blob.storedByteCount)
        let path = folder.path + "/data.mdb.gz"
        try Files.write(stored, to: path)
        let (lines, status) = try Child.run("gzip", ["-dc", path])
        Files.remove(path)
        #expect(status == .exited(0))
        #expect(lines.count == 40_000)
        #expect(lines.allSatisfy { $0 == "one line of text" })
    }

    @Test("The first publisher's coding counts: a blob is stored one way only")
    func oneCoding() throws {
        let text = [UInt8](repeating: 0x61, count: 5_000)
        let first = try store.put("a", text, mediaType: "application/octet-stream")
        let second = try store.put("b", text, mediaType: "text/plain")
        #expect(first.parts[0].coding == .identity)
        #expect(second.parts[0].coding == .identity)
        #expect(second.parts[0].mediaType == "text/plain")
        #expect(try store.counters().bytesStored == 5_000)
    }
}
