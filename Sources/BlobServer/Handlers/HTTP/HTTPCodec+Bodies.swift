import BlobProtocol
import Bytes
import Notifications

// What a head says of its body.

extension HTTPCodec {
    /// A POST is of a payload's bytes, unless it has the type of a whole notification and none of
    /// the parameters that say the rest of one.
    ///
    /// Throws `unsupported_media_type` for the types that programs give a document when nobody told
    /// them its type (`curl -d`, `fetch` with a string): it would be stored as the picture.
    static func isRawPublish(
        _ head: HTTPRequestHead, _ bytes: RawSpan
    ) throws(ProtocolError) -> Bool {
        guard let type = head.contentType?.of(bytes), head.query.isEmpty else { return true }
        for untold: StaticString in ["application/x-www-form-urlencoded", "text/plain"]
        where MediaType.isType(type, untold) {
            throw ProtocolError(
                .unsupportedMediaType,
                "the media type \(untold) is not supported here; send a notification as application/json or "
                    + "multipart/form-data, and a payload of this type to "
                    + "/v1/notifications/{id}/payload")
        }
        return !MediaType.isType(type, "application/json")
            && !MediaType.isType(type, "multipart/form-data")
    }

    /// How the end of a body is known.
    static func framing(of head: HTTPRequestHead) -> Upload.Framing {
        head.isChunked ? .chunked(ChunkedDecoder()) : .counted(head.contentLength ?? 0)
    }

    /// A body whose length is not said has none (RFC 9112, section 6.3), and would leave nothing of
    /// what is there.
    static func checkLength(of head: HTTPRequestHead) throws(ProtocolError) {
        guard head.isChunked || head.contentLength != nil else {
            throw ProtocolError(
                .lengthRequired,
                "Content-Length or Transfer-Encoding is required; an empty payload has "
                    + "Content-Length: 0")
        }
    }

    static func checkNoBody(_ head: HTTPRequestHead) throws(ProtocolError) {
        guard !head.hasBody else {
            throw ProtocolError(.malformed, "this request must not have a body")
        }
    }
}
