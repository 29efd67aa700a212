import CYAML

/// The entries of a YAML file that is one mapping of texts and lists of texts, read with libyaml.
///
/// Yams would be the usual way, but it needs all of Foundation: 45 MB more in a static program.
struct YAMLEntries {
    struct Entry {
        let key: String
        let value: Value
        let line: Int
    }

    enum Value {
        /// Nothing, `~` or `null`.
        case nothing
        case text(String)
        case list([String])
        case other(String)
    }

    struct Failure: Error {
        let line: Int
        let reason: String
    }

    /// How deep lists and mappings may be nested. A setting needs one level; libyaml takes time that grows with the square
    /// of the depth.
    static let depthMax = 16

    let entries: [Entry]

    init(parsing text: [UInt8]) throws(Failure) {
        var parser = Parser(text)
        defer { parser.end() }
        entries = try parser.document()
    }
}

/// libyaml's parser, whose memory must stay where it is.
private struct Parser {
    private let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
    private let input: UnsafeMutableBufferPointer<UInt8>
    private var event = yaml_event_t()

    init(_ text: [UInt8]) {
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

    private mutating func next() throws(YAMLEntries.Failure) {
        yaml_event_delete(&event)
        guard yaml_parser_parse(parser, &event) == 1 else {
            // Set whenever parsing fails, and a constant of the library.
            let problem = parser.pointee.problem.map { String(cString: $0) } ?? "is not YAML"
            throw YAMLEntries.Failure(line: parser.pointee.problem_mark.line + 1, reason: problem)
        }
    }

    private func refuse(_ reason: String) -> YAMLEntries.Failure {
        YAMLEntries.Failure(line: line, reason: reason)
    }

    mutating func document() throws(YAMLEntries.Failure) -> [YAMLEntries.Entry] {
        try next()  // The stream starts.
        try next()
        guard event.type != YAML_STREAM_END_EVENT else { return [] }
        try next()
        // A document of comments, or none after `---`.
        if event.type == YAML_SCALAR_EVENT, case .nothing = scalar { return [] }
        guard event.type == YAML_MAPPING_START_EVENT else {
            throw refuse("must be lines of \"key: value\"")
        }
        var entries: [YAMLEntries.Entry] = []
        while true {
            try next()
            if event.type == YAML_MAPPING_END_EVENT { break }
            let line = line
            guard event.type == YAML_SCALAR_EVENT else { throw refuse("a key must be a word") }
            let key = scalarText
            try next()
            entries.append(YAMLEntries.Entry(key: key, value: try value(), line: line))
        }
        try next()
        try next()
        guard event.type == YAML_STREAM_END_EVENT else {
            throw refuse("there must be one document")
        }
        return entries
    }

    private mutating func value() throws(YAMLEntries.Failure) -> YAMLEntries.Value {
        switch event.type {
        case YAML_SCALAR_EVENT: return scalar
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

    private mutating func skip() throws(YAMLEntries.Failure) {
        var depth = 0
        while true {
            switch event.type {
            case YAML_SEQUENCE_START_EVENT, YAML_MAPPING_START_EVENT: depth += 1
            case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT: depth -= 1
            default: break
            }
            if depth == 0 { return }
            guard depth <= YAMLEntries.depthMax else {
                throw refuse("is nested more than \(YAMLEntries.depthMax) levels deep")
            }
            try next()
        }
    }

    private var scalar: YAMLEntries.Value {
        let text = scalarText
        let isPlain = event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE
        return isPlain && ["", "~", "null"].contains(text.lowercased()) ? .nothing : .text(text)
    }

    /// The text of the current event, which is a scalar. libyaml has checked that it is UTF-8.
    private var scalarText: String {
        let bytes = UnsafeBufferPointer(
            start: event.data.scalar.value, count: event.data.scalar.length)
        return String(decoding: bytes, as: UTF8.self)
    }
}
