import BlobServer
import CYAML

struct ConfigurationError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// The YAML file of a configuration: each key is the name of a setting, and has one value.
///
/// Read with libyaml. Yams would be the usual choice, but needs all of Foundation: 45 MB more in a static program.
struct ConfigurationFile {
    fileprivate struct Entry {
        enum Value {
            case text(String)
            case list([String])
            /// Anything else, described in words.
            case other(String)
        }

        let key: String
        let value: Value
        let line: Int
    }

    static let byteCountMax = 1 << 20

    let path: String
    /// Whether the file is empty, without even a comment.
    let isEmpty: Bool
    private let entries: [String: Entry]

    /// - Throws: if the file cannot be read, is not YAML, or has a key that is not a setting or occurs twice.
    init(reading path: String) throws(ConfigurationError) {
        self.path = path
        let bytes: [UInt8]
        do throws(SmallFile.Failure) {
            bytes = try SmallFile.read(path, byteCountMax: Self.byteCountMax)
        } catch {
            throw ConfigurationError("\(path): \(error.reason)")
        }
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw ConfigurationError("\(path): is not UTF-8")
        }
        isEmpty = bytes.allSatisfy { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: " ") }
        var parser = YAMLParser(bytes, path)
        defer { parser.end() }
        var entries: [String: Entry] = [:]
        for entry in try parser.document() {
            func refuse(_ reason: String) -> ConfigurationError {
                ConfigurationError("\(path):\(entry.line): \(entry.key) \(reason)")
            }
            guard Setting.named[entry.key] != nil else {
                throw refuse("is not a setting" + NearestWord.hint(entry.key, Setting.named.keys))
            }
            if let first = entries.updateValue(entry, forKey: entry.key) {
                throw refuse("is set twice, first on line \(first.line)")
            }
        }
        self.entries = entries
    }

    func text(of name: String) -> String? {
        guard case .text(let text)? = entries[name]?.value, !text.isEmpty else { return nil }
        return text
    }

    /// The value of a setting in the file, with its line; nil if there is none.
    ///
    /// - Throws: if a value has the wrong shape, such as a list where one text is expected.
    func given(
        _ setting: Setting
    ) throws(ConfigurationError) -> (texts: [String], line: Int)? {
        guard let entry = entries[setting.name] else { return nil }
        let found: String
        switch entry.value {
        case .text(let text): return ([text], entry.line)
        case .list(let texts) where setting.kind == .list: return (texts, entry.line)
        case .list: found = "a list"
        case .other(let words): found = words
        }
        throw ConfigurationError(
            "\(path):\(entry.line): \(setting.name) is \(found); it must be \(setting.expected)")
    }
}

/// libyaml's parser, which must not be moved in memory.
private struct YAMLParser {
    /// The allowed nesting of lists and mappings. A setting needs one level, and the time of libyaml grows with the
    /// square of the depth.
    private static let depthMax = 16

    private let path: String
    private let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
    private let input: UnsafeMutableBufferPointer<UInt8>
    private var event = yaml_event_t()

    init(_ text: [UInt8], _ path: String) {
        self.path = path
        yaml_parser_initialize(parser)
        input = .allocate(capacity: text.count)
        _ = input.initialize(from: text)
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(parser, input.baseAddress, input.count)
    }

    mutating func end() {
        yaml_event_delete(&event)
        yaml_parser_delete(parser)
        parser.deallocate()
        input.deallocate()
    }

    private var line: Int { event.start_mark.line + 1 }

    private mutating func next() throws(ConfigurationError) {
        yaml_event_delete(&event)
        guard yaml_parser_parse(parser, &event) == 1 else {
            // Set whenever parsing fails, to a constant of the library.
            let problem = parser.pointee.problem.map { String(cString: $0) } ?? "is not YAML"
            throw refuse(problem, line: parser.pointee.problem_mark.line + 1)
        }
    }

    private func refuse(_ reason: String, line: Int? = nil) -> ConfigurationError {
        ConfigurationError("\(path):\(line ?? self.line): \(reason)")
    }

    mutating func document() throws(ConfigurationError) -> [ConfigurationFile.Entry] {
        try next()  // The stream starts.
        try next()
        guard event.type != YAML_STREAM_END_EVENT else { return [] }
        try next()
        // A document that has only comments, or nothing after `---`.
        if event.type == YAML_SCALAR_EVENT, isNothing { return [] }
        guard event.type == YAML_MAPPING_START_EVENT else {
            throw refuse("must consist of lines \"key: value\"")
        }
        var entries: [ConfigurationFile.Entry] = []
        while true {
            try next()
            if event.type == YAML_MAPPING_END_EVENT { break }
            let line = line
            guard event.type == YAML_SCALAR_EVENT else { throw refuse("a key must be a word") }
            let key = scalarText
            try next()
            entries.append(ConfigurationFile.Entry(key: key, value: try value(), line: line))
        }
        try next()
        try next()
        guard event.type == YAML_STREAM_END_EVENT else {
            throw refuse("must contain exactly one document")
        }
        return entries
    }

    private mutating func value() throws(ConfigurationError) -> ConfigurationFile.Entry.Value {
        switch event.type {
        case YAML_SCALAR_EVENT: return isNothing ? .other("empty") : .text(scalarText)
        case YAML_ALIAS_EVENT: return .other("an alias")
        case YAML_SEQUENCE_START_EVENT:
            var texts: [String] = []
            var isPlain = true
            while true {
                try next()
                if event.type == YAML_SEQUENCE_END_EVENT { break }
                if event.type == YAML_SCALAR_EVENT {
                    texts.append(scalarText)
                } else {
                    isPlain = false
                    try skip()
                }
            }
            return isPlain ? .list(texts) : .other("a list of more than texts")
        default:
            try skip()
            return .other("a mapping")
        }
    }

    private mutating func skip() throws(ConfigurationError) {
        var depth = 0
        while true {
            switch event.type {
            case YAML_SEQUENCE_START_EVENT, YAML_MAPPING_START_EVENT: depth += 1
            case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT: depth -= 1
            default: break
            }
            if depth == 0 { return }
            guard depth <= Self.depthMax else {
                throw refuse("is nested more than \(Self.depthMax) levels deep")
            }
            try next()
        }
    }

    /// Whether the current event, a scalar, is empty, `~` or `null`.
    private var isNothing: Bool {
        event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE
            && ["", "~", "null"].contains(scalarText.lowercased())
    }

    /// The text of the current event, a scalar. libyaml has checked that it is UTF-8.
    private var scalarText: String {
        let bytes = UnsafeBufferPointer(
            start: event.data.scalar.value, count: event.data.scalar.length)
        return String(decoding: bytes, as: UTF8.self)
    }
}
