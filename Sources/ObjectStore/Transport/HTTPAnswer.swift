import Bytes

/// An answer while it comes: its status, the few headers that count, and its body, which goes to `sink` if it is what was
/// asked for, and else is kept as the words of an error.
final class HTTPAnswer {
    private let limits: ObjectStoreLimits
    private let byteCountMax: Int
    /// Takes the body of a success. nil: the body is kept, as that of an error is.
    private let sink: ((RawSpan) -> Void)?
    /// Looks at the head of a success before `sink` gets a byte. Returns what is wrong with it.
    private let headFault: ((HTTPAnswer) -> String?)?

    private(set) var status = 0
    private(set) var kept: [UInt8] = []
    private(set) var bodyByteCount = 0
    /// Whether the words of an error were longer than the limit. What is there of them is as good as all.
    private(set) var isCutShort = false
    /// Why the answer was not read to its end, or cannot be used.
    private(set) var fault: Fault?
    private var fields: [String: String] = [:]
    private var headerByteCount = 0
    private var isInBody = false
    var headEnded: (() -> Void)?
    /// Called with the bytes of each piece of the body.
    var onMoved: ((Int) -> Void)?
    /// Whether the head has come to its end. libcurl takes the end of a connection for it.
    private(set) var isHeadWhole = false

    enum Fault: Equatable {
        case tooLarge
        case bad(String)
    }

    init(
        _ limits: ObjectStoreLimits, byteCountMax: Int, sink: ((RawSpan) -> Void)? = nil,
        headFault: ((HTTPAnswer) -> String?)? = nil
    ) {
        self.limits = limits
        self.byteCountMax = byteCountMax
        self.sink = sink
        self.headFault = headFault
    }

    /// A header's value; nil for those that are never asked for.
    subscript(name: String) -> String? { fields[name] }

    private static let names: Set<String> = [
        "content-length", "content-type", "content-range", "content-encoding",
        "transfer-encoding", "retry-after", "date", "location", "x-amz-bucket-region", "etag",
    ]

    var contentLength: Int? { fields["content-length"].flatMap { Int($0) } }

    /// Whether the body is a document of the server or of a proxy. Objects of ours are neither XML nor HTML.
    var isDocument: Bool {
        guard let type = fields["content-type"]?.lowercased() else { return false }
        return type.contains("xml") || type.contains("html")
    }

    private var isForSink: Bool { sink != nil && (status == 200 || status == 206) && !isDocument }

    /// What the server asks to wait, in milliseconds; 0: nothing. Only seconds are read, no dates.
    var retryAfterMilliseconds: Int {
        guard let text = fields["retry-after"], let seconds = Int(text), seconds > 0 else {
            return 0
        }
        return min(seconds, 86_400) * 1_000
    }

    /// Takes a line of the head, with its end. False ends the request.
    func receive(line bytes: RawSpan) -> Bool {
        headerByteCount += bytes.byteCount
        if headerByteCount > limits.headerByteCountMax {
            return refuse("more than \(limits.headerByteCountMax) bytes of headers")
        }
        // Trailers of a chunked body mean nothing.
        if isInBody { return true }
        var line = bytes.text()[...]
        while let last = line.last, last.isNewline { line = line.dropLast() }
        if line.hasPrefix("HTTP/") {
            status = line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
            fields = [:]
            return true
        }
        if line.isEmpty { return headEnds() }
        guard let colon = line.firstIndex(of: ":") else { return true }
        let name = line[..<colon].lowercased()
        guard Self.names.contains(name) else { return true }
        let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        if name == "content-length", let other = fields[name], other != value {
            return refuse(
                "two lengths, \(ObjectText.line(other)) and \(ObjectText.line(String(value)))")
        }
        fields[name] = String(value)
        return true
    }

    private func refuse(_ words: String) -> Bool {
        fault = .bad(words)
        return false
    }

    /// Interim answers (1xx) have a head, too.
    private func headEnds() -> Bool {
        guard status >= 200 else { return true }
        isHeadWhole = true
        if contentLength != 0 { headEnded?() }
        if let text = fields["content-length"], Int(text) == nil || text.first == "-" {
            return refuse("the length \"\(ObjectText.line(text))\"")
        }
        guard isForSink else { return true }
        if let length = contentLength, length > byteCountMax {
            fault = .tooLarge
            return false
        }
        if let coding = fields["content-encoding"], coding != "identity", coding != "" {
            return refuse(
                "the content coding \"\(ObjectText.line(coding))\", which was not requested")
        }
        // Without either, an end that came too early looks like the end.
        if contentLength == nil, fields["transfer-encoding"] == nil {
            return refuse("a body without a length")
        }
        if let words = headFault?(self) {
            return refuse(words)
        }
        return true
    }

    func receive(body piece: RawSpan) -> Bool {
        isInBody = true
        bodyByteCount += piece.byteCount
        onMoved?(piece.byteCount)
        if let sink, isForSink {
            guard bodyByteCount <= byteCountMax else {
                fault = .tooLarge
                return false
            }
            sink(piece)
            return true
        }
        let isSuccess = (200..<300).contains(status)
        let most = sink == nil && isSuccess ? byteCountMax : limits.errorByteCountMax
        let room = most - kept.count
        kept.append(contentsOf: piece.extracting(first: min(room, piece.byteCount)))
        guard piece.byteCount > room else { return true }
        isCutShort = true
        if isSuccess { fault = .tooLarge }
        return false
    }
}
