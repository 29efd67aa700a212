import BlobProtocol
import Notifications

/// A field of an error's answer that says what could be asked for instead (RFC 9110, sections
/// 15.5.6 and 15.5.16; RFC 5789, section 2.2).
struct AnswerHint {
    let name: StaticString
    let value: String

    /// The field that belongs to an error, if there is one.
    init?(_ error: ProtocolError, _ head: HTTPRequestHead, _ bytes: RawSpan) {
        let path = head.path.of(bytes)
        switch error.code {
        case .methodNotAllowed:
            name = "Allow"
            value = Endpoint.allow(path)
        case .unsupportedContentCoding:
            name = "Accept-Encoding"
            value = Self.isMultipart(head, bytes) ? "identity" : "gzip, deflate, identity"
        case .unsupportedMediaType:
            name = head.method == .patch ? "Accept-Patch" : "Accept"
            let endpoint = try? Endpoint.find(head.method, path, by: .mainSocket).endpoint
            value = (endpoint?.body.mediaTypes ?? "application/json").description
        default: return nil
        }
    }

    /// Whether the body is the one that must not be coded.
    private static func isMultipart(_ head: HTTPRequestHead, _ bytes: RawSpan) -> Bool {
        guard let type = head.contentType?.of(bytes) else { return false }
        return MediaType.isType(type, "multipart/form-data")
    }
}
