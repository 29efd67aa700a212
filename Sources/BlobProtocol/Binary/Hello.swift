import Bytes
import Notifications

/// The first message of a connection: the versions of the client, and the daemon's limits.
public enum Hello {
    /// The client's request (`docs/PROTOCOL.md`).
    public struct Request: Sendable, Hashable {
        /// The size of the head, in bytes.
        public static let byteCount = 4

        /// The lowest version that the client supports.
        public var lowestVersion: UInt16
        /// The highest version that the client supports.
        public var highestVersion: UInt16

        /// Creates a request for a range of versions; by default, only this module's.
        public init(lowestVersion: UInt16 = Wire.version, highestVersion: UInt16 = Wire.version) {
            self.lowestVersion = lowestVersion
            self.highestVersion = highestVersion
        }

        /// Reads a whole head. Throws `version` if the client does not support this module's version.
        public static func parse(
            _ head: RawSpan, flags: RequestFlags = []
        ) throws(ProtocolError) -> Request {
            try head.checkFixedPart(byteCount, .hello)
            try HeadTexts(after: byteCount).checkEnd(of: head, .hello)
            let request = Request(
                lowestVersion: head.integer(0, as: UInt16.self),
                highestVersion: head.integer(2, as: UInt16.self))
            let (lowest, highest) = (request.lowestVersion, request.highestVersion)
            try require(
                lowest <= Wire.version && Wire.version <= highest, .version,
                "the client speaks \(lowest == highest ? "version \(lowest)" : "versions \(lowest) to \(highest)") of the binary protocol, this daemon version \(Wire.version): upgrade the \(lowest > Wire.version ? "daemon" : "client")"
            )
            return request
        }

        /// Appends the head.
        public func compose(into out: inout [UInt8]) {
            out.append(littleEndian: lowestVersion)
            out.append(littleEndian: highestVersion)
        }
    }

    /// The daemon's answer (`docs/PROTOCOL.md`).
    public struct Response: Sendable, Hashable {
        /// The size of the part before the texts, in bytes.
        public static let fixedByteCount = 64

        /// The version of the connection.
        public var version: UInt16
        /// The maximum number of unanswered requests on the connection.
        public var requestsInFlightMax: UInt32
        /// The maximum size of a payload, in bytes.
        public var payloadByteCountMax: UInt64
        /// The maximum size of a head, in bytes.
        public var headByteCountMax: UInt64
        /// The lifetime of a put without one, in seconds.
        public var defaultTTLSeconds: UInt64
        /// The longest lifetime, in seconds.
        public var ttlSecondsMax: UInt64
        /// The position of the store id in the parsed head.
        public var storeID: Slice = Slice(offset: 40, count: Wire.storeIDByteCount)
        /// The position of the server's version in the parsed head.
        public var serverVersion: Slice = .empty

        /// Creates an answer with the protocol's version and limits, and these of the daemon.
        public init(
            payloadByteCountMax: UInt64, defaultTTLSeconds: UInt64, ttlSecondsMax: UInt64
        ) {
            self.version = Wire.version
            self.requestsInFlightMax = UInt32(WireLimits.requestsInFlightMax)
            self.payloadByteCountMax = payloadByteCountMax
            self.headByteCountMax = UInt64(WireLimits.frameHeadByteCountMax)
            self.defaultTTLSeconds = defaultTTLSeconds
            self.ttlSecondsMax = ttlSecondsMax
        }

        /// Reads a whole head.
        public static func parse(_ head: RawSpan) throws(ProtocolError) -> Response {
            try head.checkFixedPart(fixedByteCount, .hello)
            try head.checkReserved(from: 2, upTo: 4, .hello)
            try head.checkReserved(from: 57, upTo: 64, .hello)
            var response = Response(
                payloadByteCountMax: head.integer(8, as: UInt64.self),
                defaultTTLSeconds: head.integer(24, as: UInt64.self),
                ttlSecondsMax: head.integer(32, as: UInt64.self))
            response.version = head.integer(0, as: UInt16.self)
            response.requestsInFlightMax = head.integer(4, as: UInt32.self)
            response.headByteCountMax = head.integer(16, as: UInt64.self)
            var texts = HeadTexts(after: fixedByteCount)
            response.serverVersion = texts.next(Int(head.byte(56)))
            try texts.checkEnd(of: head, .hello)
            if let fault = UTF8Text.fault(in: response.serverVersion.of(head)) {
                throw ProtocolError(.malformed, "the server's version \(fault)")
            }
            return response
        }

        /// Appends the head. The store id must be 16 bytes and the server's version at most 255.
        public func compose(
            storeID: RawSpan, serverVersion: RawSpan, into out: inout [UInt8]
        ) {
            precondition(storeID.byteCount == Wire.storeIDByteCount)
            precondition(serverVersion.byteCount <= WireLimits.serverVersionByteCountMax)
            out.append(littleEndian: version)
            out.appendZeros(2)
            out.append(littleEndian: requestsInFlightMax)
            out.append(littleEndian: payloadByteCountMax)
            out.append(littleEndian: headByteCountMax)
            out.append(littleEndian: defaultTTLSeconds)
            out.append(littleEndian: ttlSecondsMax)
            out.append(contentsOf: storeID)
            out.append(UInt8(serverVersion.byteCount))
            out.appendZeros(7)
            out.append(contentsOf: serverVersion)
        }
    }
}
