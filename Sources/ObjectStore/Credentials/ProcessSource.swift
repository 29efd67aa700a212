import BlobJSON

/// What a program prints: the profile's `credential_process`.
struct ProcessSource: CredentialSource {
    static let title = "credential_process"
    private let words: [String]
    private let profile: String

    /// Settings by which other clients get credentials in ways that this one does not have.
    private static let unknownWays = [
        "role_arn", "web_identity_token_file", "sso_session", "sso_start_url", "login_session",
    ]

    static func find(_ setup: SourceSetup) throws(ObjectStoreError) -> Finding {
        let profile = try Profile(setup.environment)
        guard let line = profile["credential_process"] else {
            if let way = unknownWays.first(where: { profile[$0] != nil }) {
                throw .noCredentials(
                    "the profile \(profile.shown) has \(way), which blobd cannot use: give it a key or a credential_process"
                )
            }
            return .none("not in the profile \(profile.shown)")
        }
        guard let words = CommandWords.split(line) else {
            throw .noCredentials(
                "the command of the profile \(profile.shown) has an open quotation mark or no words"
            )
        }
        return .source(ProcessSource(words: words, profile: profile.shown))
    }

    func read(_ session: SourceSession) throws(ObjectStoreError) -> Credentials {
        // Arguments may be secret.
        let program = ObjectText.line(words[0])
        let run: ChildProcess.Run
        do throws(ChildProcess.Failure) {
            run = try ChildProcess.run(
                words, byteCountMax: ObjectStoreLimits.credentialsByteCountMax,
                milliseconds: session.millisecondsLeft, stop: session.stop)
        } catch {
            switch error {
            case .stopped: throw ObjectStoreError(.stopped, "stopped")
            case .late:
                throw ObjectStoreError(
                    .unavailable,
                    "\(program) did not end within \(session.milliseconds) ms and was killed")
            case .failed(let why): throw .noCredentials("\(program) \(why)")
            }
        }
        guard run.status == 0 else {
            let (signal, code) = (run.status & 0x7F, run.status >> 8 & 0xFF)
            throw .noCredentials(
                "\(program) "
                    + (signal != 0
                        ? "was killed by signal \(signal)" : "ended with exit code \(code)")
                    + "; its errors are where blobd's are")
        }
        let document = try CredentialsDocument.parse(run.output, of: program)
        guard case .number(let version)? = document["Version"], version.integer == 1 else {
            throw .noCredentials("\(program): its output is not of \"Version\": 1")
        }
        return try CredentialsDocument.credentials(
            of: "credential_process of the profile \(profile)", at: program, document,
            token: "SessionToken")
    }
}
