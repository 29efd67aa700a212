/// The word that was probably meant.
enum NearestWord {
    /// `; the nearest is max-payload`, or nothing where no word is near.
    static func hint(_ word: String, _ known: some Sequence<String>) -> String {
        guard let near = find(word, known), near.distance <= max(2, word.utf8.count / 2) else {
            return ""
        }
        return "; the nearest is \(near.word)"
    }

    /// The nearest of some words, the first of several; nil where there is none.
    static func find(
        _ word: String, _ known: some Sequence<String>
    ) -> (word: String, distance: Int)? {
        known.map { (word: $0, distance: distance(word, $0)) }
            .min { ($0.distance, $0.word) < ($1.distance, $1.word) }
    }

    /// How many bytes have to be put in, taken out or changed to make one of the other (Levenshtein).
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
