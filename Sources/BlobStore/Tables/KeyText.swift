internal import Bytes

enum KeyText {
    private static let byteCountMax = 80

    /// A text in quotes where it is one, else its bytes in hexadecimal; what is long is cut.
    static func text(_ key: RawSpan) -> String {
        let shown = key.extracting(first: min(key.byteCount, byteCountMax))
        let rest = key.byteCount > shown.byteCount ? "… (\(key.byteCount) bytes)" : ""
        guard !shown.isEmpty else { return "unreadable" }
        if shown.array().allSatisfy({ (0x20...0x7E).contains($0) }) {
            return "\"\(shown.text())\"" + rest
        }
        var digits: [UInt8] = []
        Hex.append(shown, to: &digits)
        return String(decoding: digits, as: UTF8.self) + rest
    }
}
