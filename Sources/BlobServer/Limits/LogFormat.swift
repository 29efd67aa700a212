/// How messages are logged.
package enum LogFormat: String, CaseIterable, Sendable {
    /// `journal` where standard error is the journal's stream, else `text`.
    case auto
    case text
    case json
    case journal
}
