/// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`.
struct EnvironmentSource: CredentialSource {
    static let title = "environment"
    private let credentials: Credentials
    var isLocal: Bool { true }

    static func find(_ setup: SourceSetup) throws(ObjectStoreError) -> Finding {
        let id = setup.environment["AWS_ACCESS_KEY_ID"]
        let secret = setup.environment["AWS_SECRET_ACCESS_KEY"]
        if id == nil, secret == nil { return .none("AWS_ACCESS_KEY_ID is not set") }
        guard let id, let secret else {
            throw .noCredentials(
                "only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set: set both, or neither to use another source"
            )
        }
        let credentials = Credentials(
            accessKeyID: id, secretAccessKey: secret,
            sessionToken: setup.environment["AWS_SESSION_TOKEN"], source: "the environment")
        return .source(EnvironmentSource(credentials: credentials))
    }

    func read(_ session: SourceSession) -> Credentials { credentials }
}

/// A key that is written in the profile of the shared files.
struct ProfileSource: CredentialSource {
    static let title = "files"
    private let environment: ProcessEnvironment
    var isLocal: Bool { true }

    static func find(_ setup: SourceSetup) throws(ObjectStoreError) -> Finding {
        let profile = try Profile(setup.environment)
        guard try profile.key() == nil else {
            return .source(ProfileSource(environment: setup.environment))
        }
        let absences = profile.parts.map {
            "\(ObjectText.line($0.path)): the profile \(profile.shown) has no aws_access_key_id"
        }
        return .none((profile.absences + absences).joined(separator: ", "))
    }

    func read(_ session: SourceSession) throws(ObjectStoreError) -> Credentials {
        let profile = try Profile(environment)
        guard let key = try profile.key() else {
            throw .noCredentials("the profile \(profile.shown) no longer has a key")
        }
        return key
    }
}
