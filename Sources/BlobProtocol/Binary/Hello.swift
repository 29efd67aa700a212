import Bytes
import Notifications

/// The first message of a connection: which versions the two sides speak, and the daemon's limits.
public enum Hello {
    /// What the client says (`docs/PROTOCOL.md`).
    public struct Request: Sendable, Hashable {
        /// The size of the head, in bytes.
        public static let byteCount = 4

        /// The lowest version the client speaks.
        public var lowestVersion: UInt16
        /// The highest version the client speaks.
        public var highestVersion: UInt16

        /// A client that speaks the versions in between, this module's own when not said.
        public init(lowestVersion: UInt16 = Wire.version, highestVersion: UInt16 = Wire.version) {
            self.lowestVersion = lowestVersion
            self.highestVersion = highestVersion
        }

        /// Reads a whole head. Throws `version` when this module's is not among those of the client.
        public static func parse(
            _ head: RawSpan, flags: RequestFlags = []
        ) throws(ProtocolError) -> Request {
            try head.checkFixedPart(byteCount, .hello)
            try HeadTexts(after: byteCount).checkEnd(of: head, .hello)
            let request = Request(
                lowestVersion: head.integer(0, as: UInt16.self),
                highestVersion: head.integer(2, as: UInt16.self))
            try require(
                request.lowestVersion <= Wire.version && Wire.version <= request.highestVersion,
                .version,
                "the client supports versions \(request.lowestVersion) to \(request.highestVersion); "
                    + "this daemon supports \(Wire.version)")
            return request
        }

        /// Appends the head.
        public func compose(into out: inout [UInt8]) {
            out.append(littleEndian: lowestVersion)
            out.append(littleEndian: highestVersion)
        }
    }

    /// What the daemon answers (`docs/PROTOCOL.md`).
    public struct Response: Sendable, Hashable {
        /// The size of the part before the texts, in bytes.
        public static let fixedByteCount = 64

        /// The version of the connection.
        public var version: UInt16
        /// How many requests of the connection may be without an answer.
        public var requestsInFlightMax: UInt32
        /// The most bytes in a payload.
        public var payloadByteCountMax: UInt64
        /// The most bytes in a head.
        public var headByteCountMax: UInt64
        /// The lifetime of what is put without one, in seconds.
        public var defaultTTLSeconds: UInt64
        /// The longest lifetime, in seconds.
        public var ttlSecondsMax: UInt64
        /// Where the store id lies in the head that was parsed.
        public var storeID: Slice = Slice(offset: 40, count: Wire.storeIDByteCount)
        /// Where the server's version lies in the head that was parsed.
        public var serverVersion: Slice = .empty

        /// An answer with the protocol's own version and limits, and these of the daemon.
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
