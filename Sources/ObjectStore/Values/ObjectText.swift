/// Texts of others in messages.
package enum ObjectText {
    /// In one line, without control characters, and of at most 200 characters.
    package static func line(_ text: String) -> String {
        var out = ""
        for (index, scalar) in text.unicodeScalars.enumerated() {
            if index == 200 { return out + "…" }
            let isControl =
                scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
                || (0x2028...0x202E).contains(scalar.value)
            out.unicodeScalars.append(isControl ? "·" : scalar)
        }
        return out
    }
}
