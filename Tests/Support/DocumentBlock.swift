/// A block of code of a Markdown document, between lines of three backticks.
public struct DocumentBlock: Sendable {
    /// The heading that it stands below, without its marks.
    public var heading: String
    /// What stands behind the first backticks: `console`, `hex request` …
    public var kind: String
    /// What it has.
    public var lines: [String]

    /// The lines with their ends.
    public var text: String { lines.map { $0 + "\n" }.joined() }

    /// The blocks of a document of the package, in their order; of one kind, where it is given.
    public static func all(in path: String, kind: String? = nil) -> [DocumentBlock] {
        all(ofText: Files.text("\(Files.package)/\(path)"), kind: kind)
    }

    /// The blocks of a document's text.
    public static func all(ofText text: String, kind: String? = nil) -> [DocumentBlock] {
        var blocks: [DocumentBlock] = []
        var heading = ""
        var open: DocumentBlock?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if var block = open {
                if line == "```" {
                    blocks.append(block)
                    open = nil
                } else {
                    block.lines.append(String(line))
                    open = block
                }
            } else if line.hasPrefix("```") {
                open = DocumentBlock(
                    heading: heading, kind: String(line.dropFirst(3)), lines: [])
            } else if line.hasPrefix("#") {
                heading = String(line.drop { $0 == "#" || $0 == " " })
            }
        }
        return blocks.filter { kind == nil || $0.kind == kind }
    }
}

extension [DocumentBlock] {
    /// The blocks below each heading, in the order of the headings.
    public var byHeading: [(heading: String, blocks: [DocumentBlock])] {
        var chapters: [(heading: String, blocks: [DocumentBlock])] = []
        for block in self {
            if chapters.last?.heading == block.heading {
                chapters[chapters.count - 1].blocks.append(block)
            } else {
                chapters.append((block.heading, [block]))
            }
        }
        return chapters
    }
}
