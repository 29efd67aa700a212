/// What was wrong with an answer, and everything that is known of it.
struct WrongAnswer: Error, CustomStringConvertible {
    /// In what way an answer was wrong.
    enum Kind: Sendable, Hashable {
        /// Bytes that are not the payload's: what must never happen.
        case bytes
        /// An older edition than the one acknowledged before the request, or none at all.
        case stale
        /// The daemon closed the connection before all bytes had come.
        case brokenOff
        /// An error that nothing explains.
        case refused
    }

    let kind: Kind
    let what: String
    /// Who got it.
    var manner = ReadingManner.fast
    var dialect = ""
    /// Which notification's payload.
    var id = 0
    /// Which edition the head said it was; nil when it said none.
    var claimed: Int?
    /// Which ones it may have been.
    var allowed = 0...0
    /// How long ago the daemon that answered was told to end, in milliseconds; nil: it was not.
    var millisecondsSinceEnd: Int?

    init(_ kind: Kind, _ what: String) {
        self.kind = kind
        self.what = what
    }

    var description: String {
        let claim = claimed.map { "edition \($0)" } ?? "no edition"
        return "a reader of the manner \"\(manner.rawValue)\" (\(dialect)) asked for "
            + "\(Edition.name(of: id)) and was answered with \(claim), where "
            + "\(allowed.lowerBound) to \(allowed.upperBound) were right: \(what)"
            + (millisecondsSinceEnd.map { "; its daemon was told to end \($0) ms before" } ?? "")
    }
}
