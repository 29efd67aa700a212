/// What one check of `blobd doctor` found.
struct Finding: Encodable, Sendable {
    enum State: String, Encodable, Sendable {
        case ok
        /// It works, and may not for long, or not well.
        case warning
        /// It does not work, or loses data.
        case problem
    }

    /// What was looked at.
    let check: String
    let state: State
    /// What was seen.
    let seen: String
    /// What to do; nil where all is well.
    let advice: String?

    static func ok(_ check: String, _ seen: String) -> Finding {
        Finding(check: check, state: .ok, seen: seen, advice: nil)
    }

    static func warning(_ check: String, _ seen: String, _ advice: String) -> Finding {
        Finding(check: check, state: .warning, seen: seen, advice: advice)
    }

    static func problem(_ check: String, _ seen: String, _ advice: String) -> Finding {
        Finding(check: check, state: .problem, seen: seen, advice: advice)
    }
}
