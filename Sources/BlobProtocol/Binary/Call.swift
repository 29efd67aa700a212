import Bytes
package import Notifications

/// A request for an HTTP resource without HTTP: resources, requests and answers are the same.
public enum Call {
    /// The method: those of HTTP with a number here, 1 to 5.
    public typealias Method = HTTPMethod

    /// What must hold for the notification or the category for the call to be carried out.
    public enum Condition: Sendable, Hashable {
        /// Nothing.
        case none
        /// It exists, with this revision.
        case revision(UInt64)
        /// It does not exist.
        case absent
        /// It exists.
        case exists

        /// The flags for the frame's header.
        public var flags: RequestFlags {
            switch self {
            case .none: []
            case .revision: .revisionGiven
            case .absent: .mustBeAbsent
            case .exists: .mustExist
            }
        }

        init(_ flags: RequestFlags, revision: UInt64) throws(ProtocolError) {
            switch flags {
            case []: self = .none
            case .revisionGiven: self = .revision(revision)
            case .mustBeAbsent: self = .absent
            case .mustExist: self = .exists
            default:
                throw ProtocolError(
                    .malformed, "flags \(flags.rawValue) set more than one condition")
            }
        }
    }

    /// The client's request (`docs/PROTOCOL.md`).
    public struct Request: Sendable, Hashable {
        /// The size of the part before the texts, in bytes.
        public static let fixedByteCount = 24

        /// The method.
        public var method: Method
        /// The condition.
        public var condition: Condition
        /// How the body is coded.
        public var coding: WireCoding
        /// Whether to answer again whenever there is more.
        public var isWatch: Bool
        /// Path and query, as in HTTP's request line.
        public var target: Slice
        package let device: DeviceName?
        package let mediaType: MediaType?

        /// Reads a whole head and checks its texts. The daemon decides whether the resource exists.
        public static func parse(
            _ head: RawSpan, flags: RequestFlags
        ) throws(ProtocolError) -> Request {
            try head.checkFixedPart(fixedByteCount, .call)
            try head.checkReserved(from: 5, upTo: 8, .call)
            try head.checkReserved(from: 16, upTo: 24, .call)
            if !flags.contains(.revisionGiven) { try head.checkReserved(from: 8, upTo: 16, .call) }
            var texts = HeadTexts(after: fixedByteCount)
            let target = texts.next(Int(head.integer(2, as: UInt16.self)))
            let device = texts.next(Int(head.byte(1)))
            let mediaType = texts.next(Int(head.byte(4)))
            try texts.checkEnd(of: head, .call)
            guard let method = Method(rawValue: head.byte(0)), method.isOfCalls else {
                throw ProtocolError(.malformed, "unknown method \(head.byte(0))")
            }
            try Call.check(target: target.of(head))
            let deviceName = try DeviceName(given: device.of(head))
            let type = try MediaType(given: mediaType.of(head))
            return Request(
                method: method,
                condition: try Condition(
                    flags.subtracting([.watch, .bodyIsGzip, .replicated]),
                    revision: head.integer(8, as: UInt64.self)),
                coding: flags.contains(.bodyIsGzip) ? .gzip : .identity,
                isWatch: flags.contains(.watch), target: target, device: deviceName, mediaType: type
            )
        }

        /// The positions of path and query in the parsed head: before and after the first `?`.
        public func split(_ head: RawSpan) -> (path: Slice, query: Slice) {
            let bytes = target.of(head)
            for index in 0..<bytes.byteCount where bytes.byte(index) == UInt8(ascii: "?") {
                return (
                    Slice(offset: target.offset, count: index),
                    Slice(target.offset + index + 1, upTo: target.end)
                )
            }
            return (target, .empty)
        }

        /// Appends the head; its flags are those of the condition, and `bodyIsGzip`. Throws before anything is
        /// appended.
        public static func compose(
            _ method: Method, target: String, device: String? = nil, mediaType: String? = nil,
            condition: Condition = .none, into out: inout [UInt8]
        ) throws(ProtocolError) {
            let device = device ?? ""
            let mediaType = mediaType ?? ""
            try require(method.isOfCalls, .malformed, "a call has no method \(method.name)")
            try Call.check(target: target.utf8.span.bytes)
            if !device.isEmpty { try TextKind.device.check(device.utf8.span.bytes) }
            if !mediaType.isEmpty { try TextKind.mediaType.check(mediaType.utf8.span.bytes) }
            var revision: UInt64 = 0
            if case .revision(let number) = condition { revision = number }
            out.append(method.rawValue)
            out.append(UInt8(device.utf8.count))
            out.append(littleEndian: UInt16(target.utf8.count))
            out.append(UInt8(mediaType.utf8.count))
            out.appendZeros(3)
            out.append(littleEndian: revision)
            out.appendZeros(8)
            for text in [target, device, mediaType] { out.append(contentsOf: text.utf8) }
        }
    }

    /// The daemon's answer (`docs/PROTOCOL.md`). The document is the body.
    public struct Response: Sendable, Hashable {
        /// The size of the part before the texts, in bytes.
        public static let fixedByteCount = 16

        /// The notification's revision, or 0.
        public var revision: UInt64
        /// The media type of the body, or an empty slice.
        public var mediaType: Slice
        /// The path of the created resource, or an empty slice.
        public var location: Slice

        /// Reads a whole head.
        public static func parse(_ head: RawSpan) throws(ProtocolError) -> Response {
            try head.checkFixedPart(fixedByteCount, .call)
            try head.checkReserved(from: 9, upTo: 10, .call)
            try head.checkReserved(from: 12, upTo: 16, .call)
            var texts = HeadTexts(after: fixedByteCount)
            let response = Response(
                revision: head.integer(0, as: UInt64.self),
                mediaType: texts.next(Int(head.byte(8))),
                location: texts.next(Int(head.integer(10, as: UInt16.self))))
            try texts.checkEnd(of: head, .call)
            if !response.mediaType.isEmpty {
                try TextKind.mediaType.check(response.mediaType.of(head))
            }
            if !response.location.isEmpty { try Call.check(target: response.location.of(head)) }
            return response
        }

        /// Appends the head, whose texts must be within their limits.
        public static func compose(
            revision: UInt64, mediaType: RawSpan, location: RawSpan, into out: inout [UInt8]
        ) {
            precondition(mediaType.byteCount <= WireLimits.mediaTypeByteCountMax)
            precondition(location.byteCount <= WireLimits.callTargetByteCountMax)
            out.append(littleEndian: revision)
            out.append(UInt8(mediaType.byteCount))
            out.append(0)
            out.append(littleEndian: UInt16(location.byteCount))
            out.appendZeros(4)
            out.append(contentsOf: mediaType)
            out.append(contentsOf: location)
        }
    }

    /// A target must be valid in HTTP's request line.
    private static func check(target: RawSpan) throws(ProtocolError) {
        let max = WireLimits.callTargetByteCountMax
        try require(target.byteCount > 0, .malformed, "the target must not be empty")
        try require(
            target.byteCount <= max, .malformed,
            "the target is \(target.byteCount) bytes long; the limit is \(max)", limit: max)
        try require(target.byte(0) == UInt8(ascii: "/"), .malformed, "the target must begin with /")
        for index in 0..<target.byteCount {
            try require(
                (0x21...0x7E).contains(target.byte(index)), .malformed,
                "the target must not contain byte \(target.byte(index)) (byte \(index))")
        }
    }
}
