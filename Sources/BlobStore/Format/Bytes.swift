// Integers in and out of bytes. Reads go through RawSpan, whose own bounds check is the last line
// of defence; callers check lengths first, so that damaged bytes are an error and not a trap.

extension RawSpan {
    /// The little-endian integer at `offset`, whatever its alignment.
    @inline(__always)
    func integer<Value: FixedWidthInteger & BitwiseCopyable>(
        at offset: Int, as: Value.Type = Value.self
    ) -> Value {
        // Every bit pattern is a value of a fixed-width integer.
        Value(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: Value.self))
    }

    /// Eight bytes at `offset` as they are.
    @inline(__always)
    func word(at offset: Int) -> UInt64 {
        unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }

    @inline(__always)
    func byte(at offset: Int) -> UInt8 {
        unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }

    /// True when both have the same bytes. Compares words; the last one may overlap what was
    /// compared before.
    @inline(__always)
    func isEqual(to other: RawSpan) -> Bool {
        let count = byteCount
        guard count == other.byteCount else { return false }
        if count >= 8 { return isEqual(to: other, by: UInt64.self) }
        if count >= 4 { return isEqual(to: other, by: UInt32.self) }
        for offset in 0..<count where byte(at: offset) != other.byte(at: offset) {
            return false
        }
        return true
    }

    /// The same for two that are equally long, and no shorter than a word.
    @inline(__always)
    private func isEqual<Word: FixedWidthInteger & BitwiseCopyable>(
        to other: RawSpan, by: Word.Type
    ) -> Bool {
        let size = MemoryLayout<Word>.size
        let last = byteCount - size
        var offset = 0
        while offset < last {
            guard
                unsafeLoadUnaligned(fromByteOffset: offset, as: Word.self)
                    == other.unsafeLoadUnaligned(fromByteOffset: offset, as: Word.self)
            else { return false }
            offset += size
        }
        return unsafeLoadUnaligned(fromByteOffset: last, as: Word.self)
            == other.unsafeLoadUnaligned(fromByteOffset: last, as: Word.self)
    }

    /// Where the first of the bytes is that is this one; nil where none is. Looks at eight at a time.
    func firstIndex(of byte: UInt8) -> Int? {
        var offset = 0
        while byteCount - offset >= 8, !ByteWord(word(at: offset)).contains(byte) { offset += 8 }
        while offset < byteCount {
            if self.byte(at: offset) == byte { return offset }
            offset += 1
        }
        return nil
    }

    /// A copy.
    var array: [UInt8] {
        // With no capacity the library writes its count into the empty array that all threads share.
        guard byteCount > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: byteCount) { target, count in
            withUnsafeBytes { UnsafeMutableRawBufferPointer(target).copyMemory(from: $0) }
            count = byteCount
        }
    }

    /// The bytes as UTF-8, mended where they are not.
    var string: String { withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}

/// Eight bytes, of which questions are answered all at once.
struct ByteWord {
    private let word: UInt64
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let tops: UInt64 = 0x8080_8080_8080_8080

    @inline(__always)
    init(_ word: UInt64) { self.word = word }

    /// Whether one of them is less than `bound`, which is at most 128: only such a byte has no top bit
    /// and borrows one.
    @inline(__always)
    func hasByte(below bound: UInt8) -> Bool {
        (word &- Self.ones &* UInt64(bound)) & ~word & Self.tops != 0
    }

    /// Whether one of them is `byte`.
    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        ByteWord(word ^ Self.ones &* UInt64(byte)).hasByte(below: 1)
    }
}

extension MutableRawSpan {
    /// Stores an integer, little-endian.
    @inline(__always)
    mutating func store<Value: FixedWidthInteger & BitwiseCopyable>(_ value: Value, at offset: Int)
    {
        storeBytes(of: value.littleEndian, toByteOffset: offset, as: Value.self)
    }

    /// Copies `bytes` to `offset`, where there is room for them.
    mutating func store(_ bytes: RawSpan, at offset: Int) {
        precondition(offset >= 0 && bytes.byteCount <= byteCount - offset)
        withUnsafeMutableBytes { target in
            // Inside of both, by the line above.
            let target = UnsafeMutableRawBufferPointer(rebasing: target[offset...])
            bytes.withUnsafeBytes { target.copyMemory(from: $0) }
        }
    }

    /// Copies a text's UTF-8 to `offset`.
    ///
    /// - Returns: where it ends.
    mutating func store(_ text: String, at offset: Int) -> Int {
        let bytes = text.utf8.span.bytes
        store(bytes, at: offset)
        return offset + bytes.byteCount
    }
}

extension Array where Element == UInt8 {
    mutating func appendLittleEndian(_ value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }

    mutating func appendBigEndian(_ value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }
}
