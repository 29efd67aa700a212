import Testing

@testable import BlobStore

/// The bytes of a record of the log (`docs/FORMAT.md`).
@Suite struct LogFormatTests {
    private static let head = LogRecord(
        logID: Nonce(high: 0x0102_0304_0506_0708, low: 0x1112_1314_1516_1718),
        transaction: 0x2122_2324, index: 0x31, operationCount: 2, operationByteCount: 21,
        changeCount: 0x41)

    /// A put of `k` and a delete of `key`, and zeros up to a page.
    private static func record() -> [UInt8] {
        let operations: [UInt8] =
            [1, 0, 1, 0, 1, 0, 0, 0, 0x6B, 0x76]
            + [2, 5, 3, 0, 0, 0, 0, 0, 0x6B, 0x65, 0x79]
        var bytes = [UInt8](repeating: 0, count: 64) + operations
        bytes += [UInt8](repeating: 0, count: LogRecord.alignment - bytes.count)
        var span = bytes.mutableSpan
        var target = span.mutableBytes
        head.write(into: &target)
        return bytes
    }

    private static func parsed(_ bytes: [UInt8], byteCountMax: Int = 4_096) -> LogRecord? {
        LogRecord(bytes.span.bytes, byteCountMax: byteCountMax)
    }

    /// Whether `bytes` are taken for the record that was written.
    private static func isAccepted(_ bytes: [UInt8]) -> Bool {
        guard let head = parsed(bytes) else { return false }
        return LogRecord.isWhole(
            bytes.span.bytes.extracting(0..<LogRecord.byteCount + head.operationByteCount))
    }

    @Test("The head stands as the text says, and comes back as it was")
    func goldenBytes() {
        let bytes = Self.record()
        // Bytes 12 to 15 are the checksum of all behind them, as zlib computes it.
        let checksum = Checksum(bytes.span.bytes.extracting(16..<85)).value
        let golden: [UInt8] =
            Array("blobdlog".utf8) + [1, 0, 0, 0]
            + (0..<4).map { UInt8(truncatingIfNeeded: checksum >> ($0 * 8)) }
            + [8, 7, 6, 5, 4, 3, 2, 1, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11]
            + [0x24, 0x23, 0x22, 0x21, 0, 0, 0, 0, 0x31, 0, 0, 0, 2, 0, 0, 0]
            + [21, 0, 0, 0, 0, 0, 0, 0, 0x41, 0, 0, 0, 0, 0, 0, 0]
        #expect(Array(bytes.prefix(64)) == golden)
        #expect(checksum == 0xFB4F_B5A3, "computed by another program")
        #expect(Self.parsed(bytes) == Self.head)
        #expect(Self.isAccepted(bytes))
        #expect(bytes.count == Self.head.paddedByteCount)
    }

    @Test("A record with one bit changed anywhere is refused")
    func everyBit() {
        let whole = Self.record()
        for bit in 0..<(64 + 21) * 8 {
            var bytes = whole
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!Self.isAccepted(bytes), "bit \(bit)")
        }
        // What is behind it is none of it.
        var bytes = whole
        bytes[64 + 21] ^= 1
        #expect(Self.isAccepted(bytes))
    }

    @Test("A record of a kind that nobody knows is none")
    func kinds() {
        var bytes = Self.record()
        for kind in UInt8(0)...255 {
            bytes[60] = kind
            #expect((Self.parsed(bytes) != nil) == (kind <= 2), "\(kind)")
        }
    }

    @Test("A length that goes beyond the place is refused, however large")
    func lengths() {
        var bytes = Self.record()
        for count in [4_033, 4_096, Int(Int32.max), Int.max, -1] as [Int] {
            withUnsafeBytes(of: count.littleEndian) { bytes.replaceSubrange(48..<56, with: $0) }
            #expect(Self.parsed(bytes) == nil, "\(count)")
        }
        withUnsafeBytes(of: 4_032.littleEndian) { bytes.replaceSubrange(48..<56, with: $0) }
        #expect(Self.parsed(bytes)?.paddedByteCount == 4_096)
        #expect(Self.parsed(Array(bytes.prefix(63))) == nil)
        #expect(Self.parsed(bytes, byteCountMax: 63) == nil)
        #expect(Self.parsed(bytes, byteCountMax: 0) == nil)
    }

    @Test("A record takes whole pages, and no more than it needs", arguments: [0, 1, 4_032, 4_033])
    func alignment(operationByteCount: Int) {
        var head = Self.head
        head.operationByteCount = operationByteCount
        #expect(head.paddedByteCount % LogRecord.alignment == 0)
        #expect(head.paddedByteCount >= 64 + operationByteCount)
        #expect(head.paddedByteCount - 64 - operationByteCount < LogRecord.alignment)
    }
}
