internal import Bytes
package import Notifications

extension TextKind {
    /// Throws the error of the field if a text is empty or breaks its rule. Allocates only to report a fault.
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

    /// Checks an id: nearly all are plain and need no closer look.
    @inline(__always)
    package static func checkID(_ bytes: RawSpan) throws(ProtocolError) {
        if bytes.isPlainName, bytes.byteCount > 0, bytes.byteCount <= TextKind.id.byteCountMax,
            !bytes.isDotSegment
        {
            return
        }
        try TextKind.id.check(bytes)
    }

    /// A text used in paths must not be `.` or `..`, or contain one of them between slashes. Programs on the way remove
    /// dot segments from paths (RFC 3986, section 5.2.4), so nobody could request it.
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
    /// The error code of a field. A field without a separate code makes a bad document.
    package init(ofField name: String) {
        self =
            switch name {
            case "part name": .badPart
            case "platforms": .badPlatform
            case "response key": .badResponse
            case "content coding": .badCoding
            case "payload", "document": .payloadTooLarge
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
    /// A text of a request. Throws the errors of ``TextKind/check(_:)``.
    package init(onWire text: String) throws(ProtocolError) {
        do throws(TextFault) {
            try self.init(text)
        } catch {
            throw ProtocolError(Rule.kind, error)
        }
        try Rule.kind.checkDotSegments(text.utf8.span.bytes)
    }

    /// A text of a request. Copies its bytes.
    package init(onWire bytes: RawSpan) throws(ProtocolError) {
        do throws(TextFault) {
            try self.init(bytes)
        } catch {
            throw ProtocolError(Rule.kind, error)
        }
        try Rule.kind.checkDotSegments(bytes)
    }

    /// A text; nil if it is empty.
    package init?(given bytes: RawSpan) throws(ProtocolError) {
        guard bytes.byteCount > 0 else { return nil }
        try self.init(onWire: bytes)
    }

    /// A name from a path, where it is percent-encoded.
    package init(inPath text: RawSpan) throws(ProtocolError) {
        if PercentCoding.isPlain(text) {
            try self.init(onWire: text)
            return
        }
        var bytes: [UInt8] = []
        try PercentCoding.decode(text, orThrow: Rule.kind.code, into: &bytes)
        try self.init(onWire: bytes.span.bytes)
    }
}
