import Bytes
import TestSupport
import Testing

@testable import BlobStore

/// CRC-32 against its definition, bit by bit: there are several ways through it, by length and by
/// processor.
@Suite struct ChecksumTests {
    /// Polynomial division, as in ISO 3309.
    static func reference(_ bytes: [UInt8]) -> UInt32 {
        var register: UInt32 = .max
        for byte in bytes {
            register ^= UInt32(byte)
            for _ in 0..<8 {
                register = register & 1 == 0 ? register >> 1 : register >> 1 ^ 0xEDB8_8320
            }
        }
        return ~register
    }

    @Test("The well-known check value")
    func known() {
        let bytes = Array("123456789".utf8)
        #expect(Checksum(bytes.span.bytes).value == 0xCBF4_3926)
        #expect(Self.reference(bytes) == 0xCBF4_3926)
        #expect(Checksum([UInt8]().span.bytes).value == 0)
    }

    @Test("Every length, from every alignment")
    func lengths() {
        var generator = SeededGenerator(seed: 32)
        let bytes = (0..<1_100).map { _ in UInt8.random(in: 0 ... .max, using: &generator) }
        for count in Array(0...400) + [511, 512, 513, 1_023, 1_024, 1_025, 1_080] {
            let start = count % 17
            let part = bytes.span.bytes.extracting(start..<start + count)
            #expect(
                Checksum(part).value == Self.reference(part.array()), "\(count) bytes from \(start)"
            )
        }
    }

    @Test("In pieces of any length it is the same as at once")
    func pieces() {
        var generator = SeededGenerator(seed: 33)
        let bytes = (0..<9_000).map { _ in UInt8.random(in: 0 ... .max, using: &generator) }
        let whole = Self.reference(bytes)
        for _ in 0..<50 {
            var checksum = Checksum()
            var start = 0
            while start < bytes.count {
                let count = min(Int.random(in: 0...700, using: &generator), bytes.count - start)
                checksum.update(bytes.span.bytes.extracting(start..<start + count))
                start += count
            }
            #expect(checksum.value == whole)
        }
    }
}
