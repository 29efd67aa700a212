internal import CLMDB

// Where C's pointers become spans and spans become C's pointers; nowhere else in this module.
//
// Into C: a key or value lives as long as the closure it is handed to, and liblmdb keeps none of
// them after the call has returned (it copies what it stores).
//
// Out of C: a value is good until its transaction ends, or, in a write transaction, until the next
// update. `span(of:)` cannot know which, so each caller ties the span to its transaction with
// `_overrideLifetime`, and update operations are `mutating`, which no borrowed span survives.

extension RawSpan {
    /// Calls `body` with this span as an `MDB_val`.
    @inline(__always)
    func withMDBValue<Result>(_ body: (inout MDB_val) -> Result) -> Result {
        unsafe withUnsafeBytes { bytes in
            // liblmdb takes keys as `void *` and never writes through them.
            var value = unsafe MDB_val(
                mv_size: bytes.count,
                mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
            return unsafe body(&value)
        }
    }
}

enum MappedValue {
    /// The bytes an `MDB_val` points to. The caller must tie the result to what keeps them mapped.
    @inline(__always)
    @_lifetime(immortal)
    static func span(of value: MDB_val) -> RawSpan {
        guard let start = unsafe value.mv_data else { return RawSpan() }
        // Immortal only until the caller's `_overrideLifetime`; liblmdb says the range is readable.
        let span = unsafe RawSpan(_unsafeStart: UnsafeRawPointer(start), byteCount: value.mv_size)
        return unsafe _overrideLifetime(span, copying: ())
    }

    /// Copies two spans one after the other into memory liblmdb reserved (`MDB_RESERVE`).
    @inline(__always)
    static func fill(_ reserved: MDB_val, with first: RawSpan, _ second: RawSpan) {
        precondition(unsafe reserved.mv_size == first.byteCount + second.byteCount)
        // The reserved range is inside a dirty page of the caller's write transaction and has
        // exactly the size that was asked for, so both copies stay inside it.
        let target = unsafe UnsafeMutableRawBufferPointer(
            start: reserved.mv_data, count: reserved.mv_size)
        unsafe first.withUnsafeBytes { unsafe target.copyMemory(from: $0) }
        let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: target[first.byteCount...])
        unsafe second.withUnsafeBytes { unsafe rest.copyMemory(from: $0) }
    }
}
