import Bytes
import Notifications

extension Get {
    /// The daemon's answer to get (`docs/PROTOCOL.md`): 200, or 206 with a range.
    public struct Response: Sendable, Hashable {
        /// The size of the part before the texts, in bytes.
        public static let fixedByteCount = 80

        /// The number of bytes of the whole payload as given.
        public var byteCount: UInt64
        /// The position of the body's first byte in the bytes as given.
        public var first: UInt64
        /// When it expires, in milliseconds since 1970.
        public var expiryMilliseconds: Int64
        /// The store's revision of the put; 0 for a digest.
        public var revision: UInt64
        /// When it was created, in milliseconds since 1970; 0 for a digest.
        public var createdMilliseconds: Int64
        /// How the bytes are coded.
        public var coding: WireCoding
        /// The position of the digest in the parsed head.
        public var digest: Slice = Slice(offset: 0, count: Wire.digestByteCount)
        /// The position of the media type in the parsed head.
        public var mediaType: Slice = .empty

        /// Creates an answer, whose digest and media type are passed to `compose`.
        public init(
            byteCount: UInt64, first: UInt64 = 0, expiryMilliseconds: Int64, revision: UInt64,
            createdMilliseconds: Int64, coding: WireCoding
        ) {
            self.byteCount = byteCount
            self.first = first
            self.expiryMilliseconds = expiryMilliseconds
            self.revision = revision
            self.createdMilliseconds = createdMilliseconds
            self.coding = coding
        }

        /// Reads a whole head.
        public static func parse(_ head: RawSpan) throws(ProtocolError) -> Response {
            try head.checkFixedPart(fixedByteCount, .get)
            try head.checkReserved(from: 74, upTo: 80, .get)
            let coding = try require(
                WireCoding(rawValue: head.byte(72)), .malformed, "unknown coding \(head.byte(72))")
            var response = Response(
                byteCount: head.integer(32, as: UInt64.self),
                first: head.integer(40, as: UInt64.self),
                expiryMilliseconds: head.integer(48, as: Int64.self),
                revision: head.integer(56, as: UInt64.self),
                createdMilliseconds: head.integer(64, as: Int64.self),
                coding: coding)
            var texts = HeadTexts(after: fixedByteCount)
            response.mediaType = texts.next(Int(head.byte(73)))
            try texts.checkEnd(of: head, .get)
            try TextKind.mediaType.check(response.mediaType.of(head))
            return response
        }

        /// Appends the head. The digest must be 32 bytes and the media type at most 255.
        public func compose(digest: RawSpan, mediaType: RawSpan, into out: inout [UInt8]) {
            var fixed = InlineArray<80, UInt8>(repeating: 0)
            var span = fixed.mutableSpan
            var bytes = span.mutableBytes
            store(into: &bytes, at: 0, digest: digest, mediaTypeByteCount: mediaType.byteCount)
            out.append(contentsOf: fixed.span.bytes)
            out.append(contentsOf: mediaType)
        }

        /// Appends a frame's header and the head at once, because the daemon writes these most often.
        public func compose(
            answering request: RequestFrame, status: UInt16, bodyByteCount: UInt64,
            digest: RawSpan, mediaType: RawSpan, into out: inout [UInt8]
        ) {
            let header = ResponseFrame(
                answering: request, status: status,
                headByteCount: UInt32(
                    truncatingIfNeeded: Self.fixedByteCount + mediaType.byteCount),
                bodyByteCount: bodyByteCount)
            let fixedByteCount = Wire.frameHeaderByteCount + Self.fixedByteCount
            let byteCount = fixedByteCount + mediaType.byteCount
            out.append(addingCapacity: byteCount) { room in
                room.withUnsafeMutableBufferPointer { buffer, count in
                    // There is room for as many bytes as requested, and all of them are written.
                    let fixed = UnsafeMutableRawBufferPointer(
                        start: buffer.baseAddress, count: fixedByteCount)
                    fixed.storeBytes(of: 0, toByteOffset: fixedByteCount - 8, as: UInt64.self)
                    var bytes = MutableRawSpan(_unsafeBytes: fixed)
                    header.store(into: &bytes)
                    store(
                        into: &bytes, at: Wire.frameHeaderByteCount, digest: digest,
                        mediaTypeByteCount: mediaType.byteCount)
                    mediaType.withUnsafeBytes { text in
                        UnsafeMutableRawBufferPointer(
                            start: buffer.baseAddress! + fixedByteCount, count: text.count
                        ).copyMemory(from: text)
                    }
                    count = byteCount
                }
            }
        }

        /// Writes the head up to the media type, into zeroed bytes.
        @inline(__always)
        private func store(
            into bytes: inout MutableRawSpan, at start: Int, digest: RawSpan,
            mediaTypeByteCount: Int
        ) {
            precondition(digest.byteCount == Wire.digestByteCount)
            precondition(mediaTypeByteCount <= WireLimits.mediaTypeByteCountMax)
            for offset in stride(from: 0, to: Wire.digestByteCount, by: 8) {
                bytes.storeBytes(
                    of: digest.integer(offset, as: UInt64.self).littleEndian,
                    toByteOffset: start + offset, as: UInt64.self)
            }
            bytes.storeBytes(of: byteCount.littleEndian, toByteOffset: start + 32, as: UInt64.self)
            bytes.storeBytes(of: first.littleEndian, toByteOffset: start + 40, as: UInt64.self)
            bytes.storeBytes(
                of: expiryMilliseconds.littleEndian, toByteOffset: start + 48, as: Int64.self)
            bytes.storeBytes(of: revision.littleEndian, toByteOffset: start + 56, as: UInt64.self)
            bytes.storeBytes(
                of: createdMilliseconds.littleEndian, toByteOffset: start + 64, as: Int64.self)
            bytes.storeBytes(of: coding.rawValue, toByteOffset: start + 72, as: UInt8.self)
            bytes.storeBytes(
                of: UInt8(mediaTypeByteCount), toByteOffset: start + 73, as: UInt8.self)
        }
    }
}
