import TestSupport

/// The bytes that `docs/FORMAT.md` prints, followed by those of ``FormatExamples``. They were computed
/// independently of the code: if a test of them fails, the format has changed, and existing stores are unreadable.
enum FormatDocument {
    private static let blocks =
        DocumentBlock.all(in: "docs/FORMAT.md", kind: "")
        + DocumentBlock.all(ofText: FormatExamples.text)

    /// The bytes of an entry below a heading.
    ///
    /// - Parameters:
    ///   - label: `key` or `value`, where the document says which it is.
    ///   - index: which of those with this label, from 0.
    static func bytes(_ heading: String, _ label: String = "", _ index: Int = 0) -> [UInt8] {
        let found = blocks.filter { $0.heading == heading }
            .flatMap { entries(of: $0.lines) }.filter { $0.label == label }
        precondition(index < found.count, "no \(label) \(index) of \(heading) is printed")
        return found[index].bytes
    }

    /// A line begins with a label or an offset, or continues the entry; then come bytes and, after three spaces, their
    /// meaning. An empty line ends an entry.
    private static func entries(of lines: [String]) -> [(label: String, bytes: [UInt8])] {
        var entries: [(label: String, bytes: [UInt8])] = []
        var isNew = true
        for line in lines {
            var rest = Substring(line)
            var label = ""
            let first = rest.prefix { $0 != " " }
            if first == "key" || first == "value" {
                label = String(first)
                isNew = true
            }
            if first.count > 2 { rest = rest.dropFirst(first.count) }
            rest = rest.drop { $0 == " " }
            if let meaning = rest.firstRange(of: "   ") { rest = rest[..<meaning.lowerBound] }
            if rest.isEmpty {
                isNew = true
                continue
            }
            if isNew { entries.append((label, [])) }
            isNew = false
            entries[entries.count - 1].bytes += hex(String(rest))
        }
        return entries
    }
}
