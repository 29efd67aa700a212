/// How the access log writes a request.
package enum AccessLogFormat: String, CaseIterable, Sendable {
    /// A JSON object in a line.
    case json
    /// As Apache and nginx do.
    case combined
}
