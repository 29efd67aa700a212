internal import Bytes
package import Notifications

// The rules of names and texts, with the wire's errors.

extension TextKind {
    /// Throws the error of its field where a text breaks its rule, or is empty. An owner has no dot
    /// segment either, since it stands in paths. Reads each byte once; allocates only to report a
    /// fault.
    package func check(_ bytes: RawSpan) throws(ProtocolError) {
        if let fault = fault(in: bytes) {
            throw ProtocolError(code, "the \(field) \(fault.words)", limit: fault.limit)
        }
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

    private var code: ErrorCode {
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
