enum HumanText {
    /// `1,234,567`.
    static func count(_ number: some BinaryInteger) -> String {
        var digits = String(number.magnitude)
        var groups: [String] = []
        while digits.count > 3 {
            groups.insert(String(digits.suffix(3)), at: 0)
            digits.removeLast(3)
        }
        groups.insert(digits, at: 0)
        return (number < 0 ? "-" : "") + groups.joined(separator: ",")
    }

    /// `1 problem`, `2 problems`.
    static func count(_ number: Int, of noun: String) -> String {
        "\(count(number)) \(noun)\(number == 1 ? "" : "s")"
    }

    /// `812 B`, `122.2 kB`, `64.0 MB`: powers of a thousand.
    static func bytes(_ number: some BinaryInteger) -> String {
        var value = Double(number)
        guard value.magnitude >= 1_000 else { return "\(number) B" }
        var unit = ""
        for next in ["kB", "MB", "GB", "TB", "PB", "EB"] {
            value /= 1_000
            unit = next
            // One decimal is shown, so what would read 1000.0 uses the next unit.
            if value.magnitude < 999.95 { break }
        }
        let tenths = (value * 10).rounded()
        return "\(Int(tenths) / 10).\(Int(tenths.magnitude) % 10) \(unit)"
    }

    /// `45 s`, `12 min`, `23 h 59 min`, `30 d`, with at most two units, rounded down.
    static func duration(milliseconds: Int64) -> String {
        let seconds = max(milliseconds, 0) / 1_000
        let units: [(Int64, String)] = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")]
        guard let first = units.firstIndex(where: { seconds >= $0.0 }) else { return "0 s" }
        var text = "\(seconds / units[first].0) \(units[first].1)"
        if first + 1 < units.count {
            let rest = seconds % units[first].0 / units[first + 1].0
            if rest > 0 { text += " \(rest) \(units[first + 1].1)" }
        }
        return text
    }

    static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }

    /// As many whole words as fit: half a number is another one.
    static func cut(_ line: some StringProtocol, to width: Int) -> String {
        var line = Substring(line)
        if line.count > width {
            let next = line.dropFirst(width).first
            let fitting = line.prefix(width)
            let lastWord = fitting.lastIndex(of: " ")
            line = next == " " ? fitting : fitting[..<(lastWord ?? fitting.endIndex)]
        }
        while line.last == " " { line.removeLast() }
        return String(line)
    }

    /// Breaks a line between words, so that none is longer than `width` unless it is one word.
    static func wrapped(_ line: String, to width: Int = 80) -> String {
        var lines = [""]
        for word in line.split(separator: " ", omittingEmptySubsequences: false) {
            let last = lines[lines.count - 1]
            if last.isEmpty {
                lines[lines.count - 1] += word
            } else if last.count + 1 + word.count <= width {
                lines[lines.count - 1] += " " + word
            } else {
                lines.append("  " + word)
            }
        }
        return lines.joined(separator: "\n")
    }

    /// A row without a value has no line.
    static func rows(_ rows: [(title: String, value: String?)], width: Int) -> String {
        rows.compactMap { row in
            row.value.map { padded(row.title, to: width) + $0 + "\n" }
        }.joined()
    }

    /// A text in one line without control characters, so that stored texts of strangers cannot control a terminal. Cut
    /// with `…` if it is longer than `characterCountMax`.
    static func line(_ text: String, characterCountMax: Int = 60) -> String {
        var out = ""
        for (index, character) in text.enumerated() {
            if index == characterCountMax { return out + "…" }
            let isControl = character.unicodeScalars.contains {
                $0.value < 0x20 || (0x7F...0x9F).contains($0.value)
                    || (0x202A...0x202E).contains($0.value) || (0x2066...0x2069).contains($0.value)
            }
            out.append(isControl ? "·" : character)
        }
        return out
    }
}

/// A table in plain text. Columns are as wide as their content, two spaces apart.
struct TextTable {
    enum Alignment {
        case left, right
    }

    private let columns: [(title: String, alignment: Alignment)]
    private var rows: [[String]] = []
    private var widths: [Int]

    init(_ columns: [(title: String, alignment: Alignment)]) {
        self.columns = columns
        self.widths = columns.map(\.title.count)
    }

    var isEmpty: Bool { rows.isEmpty }

    mutating func append(_ row: [String]) {
        precondition(row.count == columns.count)
        rows.append(row)
        for (index, cell) in row.enumerated() { widths[index] = max(widths[index], cell.count) }
    }

    /// Removes the rows so far and returns them as text. Later rows get columns at least as wide.
    mutating func takeText(withTitles: Bool) -> String {
        var text = withTitles ? line(columns.map(\.title)) : ""
        for row in rows { text += line(row) }
        rows.removeAll(keepingCapacity: true)
        return text
    }

    private func line(_ cells: [String]) -> String {
        var text = ""
        for (index, cell) in cells.enumerated() {
            let gap = String(repeating: " ", count: widths[index] - cell.count)
            let isLast = index == cells.count - 1
            switch columns[index].alignment {
            case .left: text += isLast ? cell : cell + gap + "  "
            case .right: text += isLast ? gap + cell : gap + cell + "  "
            }
        }
        // Empty trailing cells need no padding.
        while text.last == " " { text.removeLast() }
        return text + "\n"
    }
}
