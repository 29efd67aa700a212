internal import Bytes
package import Notifications

extension TextKind {
    /// Throws the error of its field where a text breaks its rule, or is empty. Allocates only to report a fault.
    package func check(_ bytes: RawSpan) throws(ProtocolError) {
        if let fault = fault(in: bytes) { throw ProtocolError(self, fault) }
        try checkDotSegments(bytes)
    }

    private var standsInPaths: Bool {
        switch self {
        case .id, .part, .owner, .category: true
        default: false
        }
    }

    /// Checks an id: nearly all are plain and need no second look.
    @inline(__always)
    package static func checkID(_ bytes: RawSpan) throws(ProtocolError) {
        if bytes.isPlainName, bytes.byteCount > 0, bytes.byteCount <= TextKind.id.byteCountMax,
            !bytes.isDotSegment
        {
            return
        }
        try TextKind.id.check(bytes)
    }

    /// What stands in paths must not be `.` or `..`, or have one of them between slashes. Programs on the way take
    /// dot segments out of paths (RFC 3986, section 5.2.4): nobody could ask for it.
    fileprivate func checkDotSegments(_ bytes: RawSpan) throws(ProtocolError) {
        guard standsInPaths else { return }
        var start = 0
        while start <= bytes.byteCount {
            let end = bytes.index(of: UInt8(ascii: "/"), from: start)
            let segment = bytes.extracting(start..<end)
            guard !segment.isDotSegment else {
                throw ProtocolError(
                    code,
                    "the \(field) must not contain the dot segment \(segment.text()) (byte \(start))"
                )
            }
            start = end + 1
        }
    }

    fileprivate var code: ErrorCode { ErrorCode(ofField: field) }
}

extension ErrorCode {
    /// The code of what is wrong with a field. One that has no code of its own makes a bad document.
    package init(ofField name: String) {
        self =
            switch name {
            case "part name", "part count": .badPart
            case "platforms": .badPlatform
            case "response key": .badResponse
            case "content coding": .badCoding
            case "payload": .payloadTooLarge
            case "record": .recordTooLarge
            case "parts": .tooManyParts
            case "token": .badQuery
            default:
                ErrorCode(rawValue: "bad_" + name.split(separator: " ").joined(separator: "_"))
                    ?? .badDocument
            }
    }
}

extension ProtocolError {
    fileprivate init(_ kind: TextKind, _ fault: TextFault) {
        self.init(kind.code, "the \(kind.field) \(fault.words)", limit: fault.limit)
    }
}

extension CheckedText {
    /// A text of a request. Throws what ``TextKind/check(_:)`` does.
    package init(onWire text: String) throws(ProtocolError) {
        do throws(TextFault) {
            try self.init(text)
        } catch {
            throw ProtocolError(Rule.kind, error)
        }
        try Rule.kind.checkDotSegments(text.utf8.span.bytes)
    }

    /// A text of a request, whose bytes are copied.
    package init(onWire bytes: RawSpan) throws(ProtocolError) {
        do throws(TextFault) {
            try self.init(bytes)
        } catch {
            throw ProtocolError(Rule.kind, error)
        }
        try Rule.kind.checkDotSegments(bytes)
    }

    /// A text that is nil where it has no bytes.
    package init?(given bytes: RawSpan) throws(ProtocolError) {
        guard bytes.byteCount > 0 else { return nil }
        try self.init(onWire: bytes)
    }

    /// A name of a path, which is percent-encoded there.
    package init(inPath text: RawSpan) throws(ProtocolError) {
        var bytes: [UInt8] = []
        try PercentCoding.decode(text, orThrow: Rule.kind.code, into: &bytes)
        try self.init(onWire: bytes.span.bytes)
    }
}
