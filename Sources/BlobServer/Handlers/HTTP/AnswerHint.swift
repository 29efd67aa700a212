import BlobProtocol

/// A field of an error's answer that says what could be asked for instead (RFC 9110, sections
/// 15.5.6 and 15.5.16; RFC 5789, section 2.2).
struct AnswerHint {
    let name: StaticString
    let value: StaticString

    /// The field that belongs to an error, if there is one.
    init?(_ error: ProtocolError, _ head: HTTPRequestHead, _ bytes: RawSpan) {
        let route = Route.parse(path: head.path.of(bytes))
        switch error.code {
        case .methodNotAllowed:
            name = "Allow"
            value = route == .unknown ? "GET, HEAD, PUT, POST, PATCH, DELETE" : route.allow
        case .unsupportedContentCoding:
            name = "Accept-Encoding"
            value = route.takesGzip(head, bytes) ? "gzip, identity" : "identity"
        case .unsupportedMediaType where head.method == .patch:
            name = "Accept-Patch"
            value = "application/merge-patch+json, application/json"
        case .unsupportedMediaType:
            name = "Accept"
            value = route.takesFiles ? "application/json, multipart/form-data" : "application/json"
        default: return nil
        }
    }
}

extension Route {
    /// Whether a body may be coded with gzip: that of a payload or a blob.
    fileprivate func takesGzip(_ head: HTTPRequestHead, _ bytes: RawSpan) -> Bool {
        switch self {
        case .payload, .part, .blob, .blobs: true
        case .notifications: (try? HTTPCodec.isRawPublish(head, bytes)) ?? false
        default: false
        }
    }

    /// Whether a body may be a notification with its files.
    fileprivate var takesFiles: Bool {
        switch self {
        case .notification, .notifications: true
        default: false
        }
    }
}
