import Bytes

/// A role that is taken with a token in a file, which others renew, such as Kubernetes: STS's AssumeRoleWithWebIdentity.
struct WebIdentitySource: CredentialSource {
    static let title = "web identity"
    let endpoint: Endpoint
    private let tokenPath: String
    private let role: String
    private let sessionName: String

    static func find(_ setup: SourceSetup) throws(ObjectStoreError) -> Finding {
        let environment = setup.environment
        guard let tokenPath = environment["AWS_WEB_IDENTITY_TOKEN_FILE"] else {
            return .none("AWS_WEB_IDENTITY_TOKEN_FILE is not set")
        }
        guard let role = environment["AWS_ROLE_ARN"] else {
            throw .noCredentials("AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not")
        }
        let address = environment.first("AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL")
        let endpoint = try Endpoint(
            address?.value ?? "https://sts.\(setup.region).amazonaws.com",
            of: address?.name ?? "AWS_ENDPOINT_URL_STS")
        // The token is all that it takes to be the role, and the answer has the secret.
        guard endpoint.isEncrypted || HostAddress.isLoopback(endpoint.hostName) else {
            throw .noCredentials(
                "\(endpoint) is not encrypted: set AWS_ENDPOINT_URL_STS to an address with https://"
            )
        }
        return .source(
            WebIdentitySource(
                endpoint: endpoint, tokenPath: tokenPath, role: role,
                sessionName: environment["AWS_ROLE_SESSION_NAME"] ?? "blobd"))
    }

    func read(_ session: SourceSession) throws(ObjectStoreError) -> Credentials {
        let fields = [
            ("Action", "AssumeRoleWithWebIdentity"), ("Version", "2011-06-15"),
            ("RoleArn", role), ("RoleSessionName", sessionName),
            ("WebIdentityToken", try SmallFile.token(tokenPath)),
        ]
        var body: [UInt8] = []
        for (name, value) in fields {
            body.append(text: "\(body.isEmpty ? "" : "&")\(name)=")
            PercentCoding.encode(value.utf8.span.bytes, into: &body)
        }
        let answer = try session.connect().ask(
            "POST", "\(endpoint)/",
            headers: ["Content-Type: application/x-www-form-urlencoded"], body: body)
        guard let root = XMLElement.parse(answer.kept),
            let found = root["AssumeRoleWithWebIdentityResult"]?["Credentials"]
        else {
            throw .noCredentials("\(endpoint): the answer is no AssumeRoleWithWebIdentityResult")
        }
        return try CredentialsDocument.credentials(
            of: "the role \(ObjectText.line(role)) by web identity", at: "\(endpoint)",
            accessKeyID: found.text(of: "AccessKeyId"),
            secretAccessKey: found.text(of: "SecretAccessKey"),
            sessionToken: found.text(of: "SessionToken"),
            expiration: found.text(of: "Expiration"))
    }
}
