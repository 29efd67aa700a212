// Appends to arrays and stores into spans.

extension [UInt8] {
    @inlinable
    package mutating func append<T: FixedWidthInteger & BitwiseCopyable>(littleEndian value: T) {
        append(words: value.littleEndian)
    }

    /// Appends a big-endian integer, for a key whose order is that of the numbers.
    @inlinable
    package mutating func append<T: FixedWidthInteger & BitwiseCopyable>(bigEndian value: T) {
        append(littleEndian: value.byteSwapped)
    }

    /// Appends words for ``Swift/RawSpan/words(_:as:)``.
    @inlinable
    package mutating func append<Value: BitwiseCopyable>(words value: Value) {
        append(addingCapacity: MemoryLayout<Value>.size) { room in
            Swift.withUnsafeBytes(of: value) { room.append(RawSpan(_unsafeBytes: $0)) }
        }
    }

    /// Appends a copy of a span's bytes.
    @inlinable
    package mutating func append(contentsOf span: RawSpan) {
        // Without capacity, the library would write its count into the empty array that all threads share.
        guard span.byteCount > 0 else { return }
        append(addingCapacity: span.byteCount) { $0.append(span) }
    }

    /// Appends `count` zero bytes: reserved fields, or room that is filled later.
    package mutating func appendZeros(_ count: Int) {
        append(addingCapacity: count) { $0.append(repeating: 0, count: count) }
    }

    /// Appends the bytes of a literal, without a `String`.
    @inlinable
    package mutating func append(_ text: StaticString) {
        append(contentsOf: RawSpan(_unsafeStart: text.utf8Start, byteCount: text.utf8CodeUnitCount))
    }

    @inlinable
    package mutating func append(text: String) {
        append(contentsOf: text.utf8.span.bytes)
    }

    /// Overwrites four bytes at `offset` with a little-endian integer.
    package mutating func replace(at offset: Int, littleEndian value: UInt32) {
        for index in 0..<4 {
            self[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * UInt32(index)))
        }
    }
}

extension OutputSpan<UInt8> {
    /// Copies bytes, for which there must be room.
    @inlinable
    @inline(__always)
    package mutating func append(_ bytes: RawSpan) {
        precondition(bytes.byteCount <= freeCapacity)
        withUnsafeMutableBufferPointer { buffer, count in
            // Within the buffer, as checked above.
            let target = UnsafeMutableRawBufferPointer(buffer)
            let rest = UnsafeMutableRawBufferPointer(rebasing: target[count...])
            bytes.withUnsafeBytes { rest.copyMemory(from: $0) }
            count &+= bytes.byteCount
        }
    }

    /// Appends the lowest `count` bytes of a word. There must be room for all eight.
    @inlinable
    @inline(__always)
    package mutating func append(first count: Int, of word: UInt64) {
        precondition(freeCapacity >= 8)
        withUnsafeMutableBufferPointer { buffer, initializedCount in
            // Within the buffer, as checked above.
            UnsafeMutableRawBufferPointer(buffer).storeBytes(
                of: word.littleEndian, toByteOffset: initializedCount, as: UInt64.self)
            initializedCount &+= count
        }
    }
}

extension MutableRawSpan {
    /// Stores a little-endian integer.
    @inlinable
    @inline(__always)
    package mutating func store<T: FixedWidthInteger & BitwiseCopyable>(
        _ value: T, at offset: Int
    ) {
        storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
    }

    /// Copies `bytes` to `offset`, where there must be room for them.
    @inlinable
    package mutating func store(_ bytes: RawSpan, at offset: Int) {
        precondition(offset >= 0 && bytes.byteCount <= byteCount - offset)
        withUnsafeMutableBytes { target in
            // Within both, as checked above.
            let target = UnsafeMutableRawBufferPointer(rebasing: target[offset...])
            bytes.withUnsafeBytes { target.copyMemory(from: $0) }
        }
    }

    /// Copies a text's UTF-8 to `offset`.
    ///
    /// - Returns: the end of the copy.
    @inlinable
    package mutating func store(_ text: String, at offset: Int) -> Int {
        let bytes = text.utf8.span.bytes
        store(bytes, at: offset)
        return offset + bytes.byteCount
    }
}
