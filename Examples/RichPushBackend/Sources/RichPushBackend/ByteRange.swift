/// One range of bytes, as a `Range` field asks for it (RFC 9110, section 14.1.2).
enum ByteRange: Equatable {
    /// All of it: nothing is asked for that there is a rule for.
    case whole
    case part(first: UInt64, count: UInt64)
    /// It begins past the end.
    case unsatisfiable

    /// What `field` asks for of `byteCount` bytes.
    init(_ field: String?, of byteCount: UInt64) {
        self = .whole
        guard let field, field.lowercased().hasPrefix("bytes=") else { return }
        let ends = field.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2 else { return }
        let first = UInt64(ends[0])
        let last = UInt64(ends[1])
        guard first != nil || ends[0].isEmpty, last != nil || ends[1].isEmpty else { return }
        switch (first, last) {
        case (nil, nil): return
        case (nil, let suffix?):
            let count = min(suffix, byteCount)
            self = count == 0 ? .unsatisfiable : .part(first: byteCount - count, count: count)
        case (let first?, let last):
            if let last, last < first { return }
            guard first < byteCount else {
                self = .unsatisfiable
                return
            }
            let end = min(last ?? .max, byteCount - 1)
            self = .part(first: first, count: end - first + 1)
        }
    }
}
