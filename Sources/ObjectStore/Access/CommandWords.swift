/// A command line as `credential_process` has it: words between blanks, and nothing else that a shell knows.
///
/// Quotation marks keep blanks together; a backslash outside of single ones takes the next character as it is. Variables,
/// `~` and patterns stay as they are written.
enum CommandWords {
    /// The words of a line; nil where a quotation mark is not closed, a backslash is last, or there is no word.
    static func split(_ line: String) -> [String]? {
        var words: [String] = []
        var word: String?
        var quote: Character?
        var characters = line[...]
        while let character = characters.popFirst() {
            switch character {
            // A C string would end there.
            case "\0": return nil
            case "\\" where quote != "'":
                guard let next = characters.popFirst(), next != "\0" else { return nil }
                // Between double ones it stays, but before what would end them.
                let isKept = quote == "\"" && next != "\"" && next != "\\"
                word = (word ?? "") + (isKept ? "\\" : "") + String(next)
            case quote: quote = nil
            case "\"" where quote == nil, "'" where quote == nil:
                quote = character
                word = word ?? ""
            case _ where quote == nil && character.isWhitespace:
                if let word { words.append(word) }
                word = nil
            default: word = (word ?? "") + String(character)
            }
        }
        if let word { words.append(word) }
        return quote == nil && words.first?.isEmpty == false ? words : nil
    }
}
