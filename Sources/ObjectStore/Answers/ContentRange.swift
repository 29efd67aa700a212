/// The header `Content-Range: bytes 0-9/443`.
struct ContentRange: Equatable {
    var range: Range<Int>
    var total: Int

    init?(_ text: String) {
        guard text.hasPrefix("bytes ") else { return nil }
        let parts = text.dropFirst(6).split(
            omittingEmptySubsequences: false, whereSeparator: { $0 == "-" || $0 == "/" })
        guard parts.count == 3,
            parts.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
            let first = Int(parts[0]), let last = Int(parts[1]), let total = Int(parts[2]),
            first <= last, last < total
        else { return nil }
        range = first..<last + 1
        self.total = total
    }
}
