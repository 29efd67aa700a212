import Bytes

/// The role of a machine at AWS: instance metadata, version 2 alone, whose token keeps others from asking through us.
struct InstanceSource: CredentialSource {
    static let title = "instance metadata"
    private let endpoint: Endpoint

    static func find(_ setup: SourceSetup) throws(ObjectStoreError) -> Finding {
        let environment = setup.environment
        if environment["AWS_EC2_METADATA_DISABLED"]?.lowercased() == "true" {
            return .none("AWS_EC2_METADATA_DISABLED is true")
        }
        let name = "AWS_EC2_METADATA_SERVICE_ENDPOINT"
        let mode = environment["AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"]?.lowercased()
        let address = mode == "ipv6" ? "http://[fd00:ec2::254]" : "http://169.254.169.254"
        let endpoint = try Endpoint(environment[name] ?? address, of: name)
        return .source(InstanceSource(endpoint: endpoint))
    }

    private static let tokenSeconds = 300
    private static let path = "/latest/meta-data/iam/security-credentials/"

    func read(_ session: SourceSession) throws(ObjectStoreError) -> Credentials {
        let client = try session.connect(isNear: true)
        let token: String
        do throws(ObjectStoreError) {
            token = try word(
                try client.ask(
                    "PUT", "\(endpoint)/latest/api/token",
                    headers: ["X-aws-ec2-metadata-token-ttl-seconds: \(Self.tokenSeconds)"],
                    body: []), "token")
        } catch {
            // Nobody has set it up: what is not there now will not be there later.
            guard error.kind == .unavailable else { throw error }
            throw .noCredentials(error.description)
        }
        let headers = ["X-aws-ec2-metadata-token: \(token)"]
        let role = try word(
            try client.ask("GET", "\(endpoint)\(Self.path)", headers: headers), "name of a role")
        // It stands in a path. These are all that a role's name may have.
        guard
            role.utf8.allSatisfy({
                Decimal.isDigit($0) || ($0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A)
                    || "_+=,.@-".utf8.contains($0)
            }), role != ".", role != ".."
        else { throw .noCredentials("\(endpoint): the answer is no name of a role") }
        let answer = try client.ask("GET", "\(endpoint)\(Self.path)\(role)", headers: headers)
        let place = "\(endpoint)"
        return try CredentialsDocument.credentials(
            of: "the instance's role \(ObjectText.line(role))", at: place,
            try CredentialsDocument.parse(answer.kept, of: place), token: "Token")
    }

    /// The first line of an answer.
    private func word(_ answer: HTTPAnswer, _ what: String) throws(ObjectStoreError) -> String {
        let line = answer.kept.prefix { $0 != 0x0A && $0 != 0x0D }
        let word = String(decoding: line, as: UTF8.self)
        guard !word.isEmpty, word.utf8.count <= 1_024, word.isPrintableASCII else {
            throw .noCredentials("\(endpoint): the answer is no \(what)")
        }
        return word
    }
}
