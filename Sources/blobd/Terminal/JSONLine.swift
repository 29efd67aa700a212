import FoundationEssentials

/// JSON as the commands print it: one document in one line, members in snake case and in a fixed
/// order.
enum JSONLine {
    static func text(_ value: some Encodable) throws(CommandFailure) -> String {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else {
            throw CommandFailure(.refused, "the result cannot be written as JSON")
        }
        return String(decoding: data, as: UTF8.self) + "\n"
    }
}
