import ArgumentParser

extension ArgumentHelp {
    static func named(_ valueName: String, _ text: String) -> ArgumentHelp {
        ArgumentHelp(text, valueName: valueName)
    }
}

func require(_ isRight: Bool, _ refusal: @autoclosure () -> String) throws(ValidationError) {
    guard isRight else { throw ValidationError(refusal()) }
}

// Option values other than plain numbers and texts. `--help` shows their defaults as typed.

/// A number of bytes on the command line: `1048576`, `512KiB`, `64MiB`, `2GiB`, and in powers of ten `10MB`.
struct ByteCountText: ExpressibleByArgument {
    let byteCount: Int

    init(_ byteCount: Int) {
        self.byteCount = byteCount
    }

    init?(argument: String) {
        let unit = Self.units.first { argument.hasSuffix($0.name) }
        let digits = argument.dropLast(unit?.name.count ?? 0)
        guard let number = Self.number(digits) else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: unit?.byteCount ?? 1)
        guard !overflow else { return nil }
        byteCount = product
    }

    private static let units: [(name: String, byteCount: Int)] = [
        ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40),
        ("KB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("TB", 1_000_000_000_000),
    ]

    /// In the largest unit that gives a whole number.
    var defaultValueDescription: String {
        let unit = Self.units.filter { byteCount > 0 && byteCount.isMultiple(of: $0.byteCount) }
            .max { $0.byteCount < $1.byteCount }
        return unit.map { "\(byteCount / $0.byteCount)\($0.name)" } ?? "\(byteCount)"
    }

    static func number(_ digits: Substring) -> Int? {
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int(digits)
    }
}

/// A length of time on the command line: `500ms`, `10`, `10s`, `15m`, `24h`, `30d`.
struct DurationText: ExpressibleByArgument {
    let milliseconds: Int

    init(milliseconds: Int) {
        self.milliseconds = milliseconds
    }

    init(seconds: Int) {
        milliseconds = seconds * 1_000
    }

    init?(argument: String) {
        if argument.hasSuffix("ms") {
            guard let number = ByteCountText.number(argument.dropLast(2)) else { return nil }
            milliseconds = number
        } else {
            guard let seconds = CommandLineText.seconds(argument), seconds <= Int.max / 1_000 else {
                return nil
            }
            milliseconds = Int(seconds) * 1_000
        }
    }
}

extension DurationText {
    /// In the largest unit that gives a whole number.
    var defaultValueDescription: String {
        for (unit, length) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)]
        where milliseconds > 0 && milliseconds % length == 0 {
            return "\(milliseconds / length)\(unit)"
        }
        return "\(milliseconds)ms"
    }
}

enum NearestWord {
    /// `; the nearest is max-payload`, or empty if no word is similar.
    static func hint(_ word: String, _ known: some Sequence<String>) -> String {
        guard let near = find(word, known), near.distance <= max(2, word.utf8.count / 2) else {
            return ""
        }
        return "; the nearest is \(near.word)"
    }

    static func find(
        _ word: String, _ known: some Sequence<String>
    ) -> (word: String, distance: Int)? {
        known.map { (word: $0, distance: distance(word, $0)) }
            .min { ($0.distance, $0.word) < ($1.distance, $1.word) }
    }

    /// The number of bytes to insert, remove or change to turn one into the other (Levenshtein).
    static func distance(_ left: String, _ right: String) -> Int {
        let right = Array(right.utf8)
        var row = Array(0...right.count)
        for (index, byte) in left.utf8.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in right.indices {
                let changed = diagonal + (byte == right[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(changed, diagonal + 1, row[column] + 1)
            }
        }
        return row[right.count]
    }
}
