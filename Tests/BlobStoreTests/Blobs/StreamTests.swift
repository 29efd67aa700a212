import Glibc
import TestSupport
import Testing

@testable import BlobStore

@Suite struct StreamTests {
    private let folder = TemporaryFolder()

    @Test("Random pieces make the same payload as the whole", arguments: [UInt64(21), 22, 23])
    func pieces(seed: UInt64) throws {
        let store = try folder.open()
        var generator = SeededGenerator(seed: seed)
        for type in ["image/jpeg", "text/plain"] {
            let size = Int.random(in: 100_000...500_000, using: &generator)
            let bytes = generator.bytes(size).map { 0x40 + $0 % 16 }
            var writer = store.makePayloadWriter()
            var offset = 0
            while offset < size {
                let count = min(
                    size - offset,
                    Int.random(in: 0...3, using: &generator) == 0
                        ? Int.random(in: 0...3, using: &generator)
                        : Int.random(in: 0...100_000, using: &generator))
                try writer.append(bytes.span.bytes.extracting(offset..<offset + count))
                offset += count
                #expect(writer.byteCount == offset)
            }
            let pieced = try writer.finish(mediaType: type)
            let whole = try store.prepare(bytes, mediaType: type)
            #expect(pieced.digest == whole.digest, "seed \(seed)")
            #expect(pieced.coding == whole.coding)
            #expect(pieced.byteCount == size)
            try store.publish(
                Publication(id: type.filter { $0 != "/" }, payload: pieced, expiry: .at(.max9999)),
                asOf: noon)
            let read = try store.ownedPayload(for: type.filter { $0 != "/" }, asOf: noon)
            #expect(read == bytes, "seed \(seed)")
        }
    }

    @Test("Beyond 128 KiB the bytes go to a file without a name, and nothing is left of it")
    func spool() throws {
        let store = try folder.open()
        let names = Files.names(in: folder.path)
        let limit = StoreLimits.payloadInMemoryByteCountMax
        do {
            var writer = store.makePayloadWriter()
            try writer.append([UInt8](repeating: 1, count: limit).span.bytes)
            #expect(Self.spools(in: folder.path) == 0)
            try writer.append([UInt8](repeating: 1, count: 1).span.bytes)
            #expect(Self.spools(in: folder.path) == 1)
            #expect(Files.names(in: folder.path) == names)
            // Abandoned here.
        }
        #expect(Self.spools(in: folder.path) == 0)
        #expect(Files.names(in: folder.path) == names)
        #expect(try store.counters() == Counters())
        // One that is prepared keeps its file as long as it is there.
        do {
            let prepared = try store.prepare([UInt8](repeating: 2, count: limit + 1))
            #expect(Self.spools(in: folder.path) == 1)
            #expect(prepared.storedByteCount == limit + 1)
        }
        #expect(Self.spools(in: folder.path) == 0)
    }

    @Test("A payload larger than the store allows is refused at the byte that is too many")
    func tooLarge() throws {
        let store = try folder.open { $0.payloadByteCountMax = 1_000 }
        var writer = store.makePayloadWriter()
        try writer.append([UInt8](repeating: 1, count: 1_000).span.bytes)
        let error = try failure {
            var tooMuch = store.makePayloadWriter()
            try tooMuch.append([UInt8](repeating: 1, count: 999).span.bytes)
            try tooMuch.append([1, 2].span.bytes.extracting(0..<2))
        }
        #expect(error.description == "the payload is over the limit of 1000 bytes")
        let payload = try writer.finish(mediaType: "image/png")
        #expect(payload.byteCount == 1_000)
    }

    /// Descriptors of this process of files in `path` that have no name.
    private static func spools(in path: String) -> Int {
        var count = 0
        for name in Files.names(in: "/proc/self/fd") {
            var target = [CChar](repeating: 0, count: 4_096)
            let length = readlink("/proc/self/fd/\(name)", &target, target.count - 1)
            let text = String(
                decoding: target[..<max(0, length)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if text.hasPrefix(path + "/") && text.hasSuffix(" (deleted)") { count += 1 }
        }
        return count
    }
}

extension Timestamp {
    /// The last moment there is.
    static let max9999 = Timestamp(milliseconds: StoreLimits.expiryMillisecondsMax)
}
