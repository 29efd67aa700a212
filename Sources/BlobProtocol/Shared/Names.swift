internal import Bytes
package import Notifications

// The rules of names and texts, with the wire's errors.

extension TextKind {
    /// Throws the error of its field where a text breaks its rule, or is empty. An owner has no dot
    /// segment either, since it stands in paths. Reads each byte once; allocates only to report a
    /// fault.
    package func check(_ bytes: RawSpan) throws(ProtocolError) {
        if let fault = fault(in: bytes) { throw ProtocolError(self, fault) }
        if case .owner = self { try checkDotSegments(bytes) }
    }

    /// The same for an id: nearly all are plain and need no second look.
    @inline(__always)
    package static func checkID(_ bytes: RawSpan) throws(ProtocolError) {
        if bytes.isPlainName, bytes.byteCount > 0, bytes.byteCount <= TextKind.id.byteCountMax {
            return
        }
        try TextKind.id.check(bytes)
    }

    /// Checks a name that was decoded from a path: it must not be `.` or `..`, or have one of them
    /// between slashes. Programs on the way here take such dot segments out of paths (RFC 3986,
    /// section 5.2.4), some of them after decoding.
    package func checkDotSegments(_ bytes: RawSpan) throws(ProtocolError) {
        var start = 0
        while start <= bytes.byteCount {
            let end = bytes.index(of: UInt8(ascii: "/"), from: start)
            guard !bytes.extracting(start..<end).isDotSegment else {
                throw ProtocolError(
                    code,
                    "the \(field) must not contain the dot segment "
                        + "\(bytes.extracting(start..<end).text()) (byte \(start))")
            }
            start = end + 1
        }
    }

    fileprivate var code: ErrorCode {
        switch self {
        case .id: .badID
        case .part: .badPart
        case .app: .badApp
        case .category: .badCategory
        case .device: .badDevice
        case .actionIdentifier, .actionTitle: .badActions
        case .responseAction, .responseKey: .badResponse
        case .owner: .badOwner
        case .group: .badGroup
        case .richType: .badRichType
        case .title: .badTitle
        case .message: .badMessage
        case .mediaType: .badMediaType
        }
    }
}

extension ProtocolError {
    /// A text that breaks the rule of its kind.
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
        if case .owner = Rule.kind { try Rule.kind.checkDotSegments(text.utf8.span.bytes) }
    }

    /// The same of bytes, which are copied.
    package init(onWire bytes: RawSpan) throws(ProtocolError) {
        try self.init(bytes, inPath: false)
    }

    /// The same of bytes of which none says that there is no text.
    package init?(given bytes: RawSpan) throws(ProtocolError) {
        guard bytes.byteCount > 0 else { return nil }
        try self.init(bytes, inPath: false)
    }

    /// A name of a path, which is percent-encoded there and no dot segment.
    package init(inPath text: RawSpan) throws(ProtocolError) {
        var bytes: [UInt8] = []
        try PercentCoding.decode(text, orThrow: Rule.kind.code, into: &bytes)
        try self.init(bytes.span.bytes, inPath: true)
    }

    private init(_ bytes: RawSpan, inPath: Bool) throws(ProtocolError) {
        do throws(TextFault) {
            try self.init(bytes)
        } catch {
            throw ProtocolError(Rule.kind, error)
        }
        if inPath || Rule.kind == .owner { try Rule.kind.checkDotSegments(bytes) }
    }
}
