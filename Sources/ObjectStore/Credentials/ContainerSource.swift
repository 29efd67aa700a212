/// The role of a container: the address that ECS, EKS and other agents write into its environment.
struct ContainerSource: CredentialSource {
    static let title = "container"
    let endpoint: Endpoint
    /// Path and query.
    let target: String
    private let environment: ProcessEnvironment

    static func find(_ setup: SourceSetup) throws(ObjectStoreError) -> Finding {
        let environment = setup.environment
        let (relative, full) = (
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"
        )
        let (name, address): (String, String)
        if let path = environment[relative] {
            guard path.hasPrefix("/") else { throw .noCredentials("\(relative) must begin with /") }
            (name, address) = (relative, "http://169.254.170.2\(path)")
        } else if let whole = environment[full] {
            (name, address) = (full, whole)
        } else {
            return .none("neither \(relative) nor \(full) is set")
        }
        return .source(try ContainerSource(address, of: name, environment))
    }

    private init(
        _ address: String, of name: String, _ environment: ProcessEnvironment
    ) throws(ObjectStoreError) {
        let start = address.firstRange(of: "://")?.upperBound ?? address.startIndex
        let origin = address[..<start] + address[start...].prefix { $0 != "/" && $0 != "?" }
        let rest = address[origin.endIndex...]
        guard rest.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }) else {
            throw .noCredentials("\(name) has blanks, a fragment, or characters that are not ASCII")
        }
        endpoint = try Endpoint(String(origin), of: name)
        target = (rest.hasPrefix("/") ? "" : "/") + rest
        self.environment = environment
        let host = endpoint.hostName
        guard
            endpoint.isEncrypted || HostAddress.isLoopback(host)
                || HostAddress.isContainerAgent(host)
        else {
            throw .noCredentials(
                "\(name) is at \(endpoint): without https:// the host must be localhost, 127.0.0.0/8, [::1], 169.254.170.2, 169.254.170.23 or [fd00:ec2::23]"
            )
        }
    }

    func read(_ session: SourceSession) throws(ObjectStoreError) -> Credentials {
        var headers: [String] = []
        // The agent of EKS renews the file.
        if let path = environment["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] {
            headers = ["Authorization: \(try SmallFile.token(path))"]
        } else if let token = environment["AWS_CONTAINER_AUTHORIZATION_TOKEN"] {
            guard token.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else {
                throw .noCredentials(
                    "AWS_CONTAINER_AUTHORIZATION_TOKEN has control characters, or others than ASCII's"
                )
            }
            headers = ["Authorization: \(token)"]
        }
        let answer = try session.connect(isNear: !endpoint.isEncrypted).ask(
            "GET", endpoint.origin + target, headers: headers)
        let place = "\(endpoint)"
        return try CredentialsDocument.credentials(
            of: "the container's role at \(place)", at: place,
            try CredentialsDocument.parse(answer.kept, of: place), token: "Token")
    }
}
