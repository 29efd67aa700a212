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

    /// True when both have the same bytes.
    @inline(__always)
    func isEqual(to other: RawSpan) -> Bool {
        guard byteCount == other.byteCount else { return false }
        for offset in 0..<byteCount where byte(at: offset) != other.byte(at: offset) {
            return false
        }
        return true
    }

    /// A copy.
    var array: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: byteCount) { target, count in
            withUnsafeBytes { UnsafeMutableRawBufferPointer(target).copyMemory(from: $0) }
            count = byteCount
        }
    }

    /// The bytes as UTF-8, mended where they are not.
    var string: String { String(decoding: array, as: UTF8.self) }
}

extension Array where Element == UInt8 {
    mutating func appendLittleEndian(_ value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }

    mutating func appendBigEndian(_ value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }
}
