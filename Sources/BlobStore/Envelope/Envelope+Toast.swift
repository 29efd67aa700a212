extension Envelope {
    /// A toast with title and message, the title first, whose launch argument names the notification as a query would:
    /// `richId=` and the id, percent-encoded, so that an id with `&` or `=` in it stays one value.
    init(toast alert: PushAlert, id: String) {
        let launch = "richId=\(Self.percentEncoded(id))"
        var xml =
            "<toast launch=\"\(launch)\"><visual><binding template=\"ToastGeneric\">"
        for text in [alert.title, alert.message] {
            if let text { xml += "<text>\(Self.escaped(text))</text>" }
        }
        xml += "</binding></visual></toast>"
        self.init(mediaType: "text/xml", bytes: Array(xml.utf8))
    }

    /// All bytes of the UTF-8 but RFC 3986's unreserved characters are encoded.
    private static func percentEncoded(_ text: String) -> String {
        var out = ""
        for byte in text.utf8 {
            let scalar = Unicode.Scalar(byte)
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "-", ".", "_", "~":
                out.unicodeScalars.append(scalar)
            default:
                let hex = String(byte, radix: 16, uppercase: true)
                out += byte < 16 ? "%0\(hex)" : "%\(hex)"
            }
        }
        return out
    }

    /// A text for an element or a quoted attribute (XML 1.0, sections 2.2 to 2.4). Line ends are
    /// references, which no reader makes other blanks of; what XML cannot have becomes U+FFFD.
    private static func escaped(_ text: String) -> String {
        var out = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": out += "&amp;"
            case "<": out += "&lt;"
            case ">": out += "&gt;"
            case "\"": out += "&quot;"
            case "'": out += "&apos;"
            case "\t": out += "&#9;"
            case "\n": out += "&#10;"
            case "\r": out += "&#13;"
            case "\u{0}"..<" ", "\u{FFFE}", "\u{FFFF}": out += "\u{FFFD}"
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out
    }
}
