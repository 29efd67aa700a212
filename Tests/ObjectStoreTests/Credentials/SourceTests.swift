import TestSupport
import Testing

@testable import ObjectStore

/// What each source is asked, and what is made of its answers.
@Suite struct SourceTests {
    private static let key = IssuedKey(id: "KEY", endsAt: 3_600)

    private static func read(_ variables: [String: String]) throws -> Credentials {
        try provider(variables).get(stop: StopSignal())
    }

    @Test("Each source gives a key, its token and its end", arguments: StandIn.allCases)
    func each(source: StandIn) throws {
        let (server, variables, folder) = try source.start(source.document(Self.key))
        defer { withExtendedLifetime(folder) {} }
        let read = try Self.read(variables)
        #expect(read.accessKeyID == "KEY" && read.secretAccessKey == "geheim")
        #expect(read.sessionToken == "zeichenKEY")
        #expect(read.expiration == StillClock.begin + 3_600_000)
        #expect("\(read)".hasPrefix("access key KEY of "))
        #expect("\(read)".hasSuffix(", with a session token, valid until 2026-12-01T01:00:00.000Z"))
        #expect(!"\(read)".contains("geheim") && !"\(read)".contains("zeichen"))
        let requests = server.requests
        switch source {
        case .webIdentity:
            try #require(requests.count == 1)
            #expect(requests[0].head[0] == "POST / HTTP/1.1")
            #expect(requests[0].headers["content-type"] == "application/x-www-form-urlencoded")
            #expect(
                String(decoding: requests[0].body, as: UTF8.self)
                    == "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fblobd&RoleSessionName=blobd&WebIdentityToken=a%2Bb%2Fc.d%3D%3D"
            )
        case .process: #expect(requests.isEmpty)
        case .container:
            #expect(requests.map { $0.head[0] } == ["GET /v1/credentials?id=7 HTTP/1.1"])
            #expect(requests[0].headers["authorization"] == "token")
        case .instance:
            try #require(requests.count == 3)
            #expect(requests[0].headers["x-aws-ec2-metadata-token-ttl-seconds"] == "300")
            #expect(requests[0].headers["content-length"] == "0")
            #expect(Set(requests.map(\.connection)) == [0])
        }
    }

    @Test("A key without an end, and without a token, is one", arguments: StandIn.allCases)
    func lasting(source: StandIn) throws {
        let (server, variables, folder) = try source.start(
            source.document(IssuedKey(id: "KEY", endsAt: nil)))
        defer { withExtendedLifetime((server, folder)) {} }
        #expect(try Self.read(variables).expiration == nil)
    }

    @Test("The first source that is set up is the only one, in this order")
    func order() throws {
        let folder = TemporaryFolder()
        try folder.write("token", Array("t".utf8))
        try folder.write(
            "keys", Array("[default]\naws_access_key_id=a\naws_secret_access_key=b".utf8))
        try folder.write("config", Array("[default]\ncredential_process=true\n".utf8))
        let all = [
            ("environment", ["AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"]),
            (
                "web identity",
                ["AWS_ROLE_ARN": "r", "AWS_WEB_IDENTITY_TOKEN_FILE": folder.path("token")]
            ),
            ("files", ["AWS_SHARED_CREDENTIALS_FILE": folder.path("keys")]),
            ("credential_process", ["AWS_CONFIG_FILE": folder.path("config")]),
            ("container", ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/x"]),
            ("instance metadata", [:]),
        ]
        #expect(CredentialSources.table.map { $0.title } == all.map(\.0))
        var variables: [String: String] = [:]
        for (title, own) in all.reversed() {
            variables.merge(own) { $1 }
            let chosen = try CredentialSources.find(
                ProcessEnvironment(variables), region: "us-east-1")
            #expect(chosen.title == title)
        }
    }

    @Test("Where none is set up, the error says of each why")
    func none() throws {
        let error = try #require(throws: ObjectStoreError.self) {
            try provider(["HOME": "/no/home", "AWS_EC2_METADATA_DISABLED": "true"])
        }
        #expect(error.kind == .noCredentials)
        #expect(
            error.description
                == "no credentials: environment: AWS_ACCESS_KEY_ID is not set; web identity: AWS_WEB_IDENTITY_TOKEN_FILE is not set; files: /no/home/.aws/credentials: No such file or directory, /no/home/.aws/config: No such file or directory; credential_process: not in the profile [default]; container: neither AWS_CONTAINER_CREDENTIALS_RELATIVE_URI nor AWS_CONTAINER_CREDENTIALS_FULL_URI is set; instance metadata: AWS_EC2_METADATA_DISABLED is true. Set up one of them"
        )
    }

    @Test("A source that is set up wrongly is named, and no other one asked")
    func wrong() throws {
        let folder = TemporaryFolder()
        func config(_ line: String) throws -> [String: String] {
            [
                "AWS_CONFIG_FILE": try folder.write(
                    "c\(line.utf8.count)", Array("[default]\n\(line)\n".utf8))
            ]
        }
        let identity = ["AWS_WEB_IDENTITY_TOKEN_FILE": "/no/token", "AWS_ROLE_ARN": "r"]
        func container(_ address: String) -> [String: String] {
            ["AWS_CONTAINER_CREDENTIALS_FULL_URI": address]
        }
        for (variables, words) in [
            (
                ["AWS_WEB_IDENTITY_TOKEN_FILE": "/t"],
                "web identity: AWS_WEB_IDENTITY_TOKEN_FILE is set, but"
            ),
            (
                identity.merging(["AWS_ENDPOINT_URL": "http://sts.example.com"]) { $1 },
                "is not encrypted"
            ),
            (
                identity.merging(["AWS_ENDPOINT_URL_STS": "sts"]) { $1 },
                "AWS_ENDPOINT_URL_STS has it"
            ),
            (try config("role_arn = arn"), "has role_arn, which blobd cannot use"),
            (try config("sso_session = x"), "has sso_session, which"),
            (try config("credential_process = 'x"), "open quotation mark"),
            (["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "x"], "must begin with /"),
            (container("ftp://localhost/"), "must begin with https://"),
            (container("http://localhost/a#b"), "a fragment"),
            (container("http://localhost/a b"), "has blanks"),
            (container("http://user@localhost/"), "must not contain a user"),
            (container("http://"), "has no host"),
            (container("http://localhost.example.com/"), "without https:// the host must be"),
            (container("http://127.0.0.1.example.com/"), "without https:// the host must be"),
            (container("http://2130706433/"), "without https:// the host must be"),
            (container("http://169.254.169.254/"), "without https:// the host must be"),
            (container("http://10.0.0.1?http://127.0.0.1/"), "without https:// the host must be"),
            (container("http://[::2]/"), "without https:// the host must be"),
            (
                ["AWS_EC2_METADATA_SERVICE_ENDPOINT": "there"],
                "AWS_EC2_METADATA_SERVICE_ENDPOINT has it"
            ),
        ] as [([String: String], String)] {
            let error = try #require(throws: ObjectStoreError.self) {
                try provider(variables)
            }
            #expect(error.kind == .noCredentials && "\(error)".contains(words), "\(error)")
        }
    }

    @Test("Addresses of containers that are allowed, and where they lead")
    func containers() throws {
        for (variable, address, origin, target) in [
            ("RELATIVE", "/v2/x?y=1", "http://169.254.170.2", "/v2/x?y=1"),
            (
                "FULL", "http://169.254.170.23/v1/credentials", "http://169.254.170.23",
                "/v1/credentials"
            ),
            ("FULL", "http://[fd00:ec2::23]", "http://[fd00:ec2::23]", "/"),
            ("FULL", "http://[::1]:81?a", "http://[::1]:81", "/?a"),
            ("FULL", "http://127.9.9.9:8080/", "http://127.9.9.9:8080", "/"),
            ("FULL", "http://LOCALHOST/", "http://localhost", "/"),
            ("FULL", "https://agent.example.com/a", "https://agent.example.com", "/a"),
        ] {
            let setup = SourceSetup(
                environment: ProcessEnvironment([
                    "AWS_CONTAINER_CREDENTIALS_\(variable)_URI": address
                ]),
                region: "r")
            guard case .source(let found) = try ContainerSource.find(setup),
                let source = found as? ContainerSource
            else {
                Issue.record("\(address)")
                continue
            }
            #expect(source.endpoint.origin == origin && source.target == target)
        }
    }

    @Test("STS is the region's, unless a variable names another")
    func regionalEndpoint() throws {
        let variables = ["AWS_WEB_IDENTITY_TOKEN_FILE": "/t", "AWS_ROLE_ARN": "r"]
        for (more, origin) in [
            ([:], "https://sts.eu-west-3.amazonaws.com"),
            (["AWS_ENDPOINT_URL": "https://a"], "https://a"),
            (["AWS_ENDPOINT_URL": "https://a", "AWS_ENDPOINT_URL_STS": "https://b"], "https://b"),
        ] {
            let setup = SourceSetup(
                environment: ProcessEnvironment(variables.merging(more) { $1 }), region: "eu-west-3"
            )
            guard case .source(let found) = try WebIdentitySource.find(setup) else {
                Issue.record("not found")
                continue
            }
            #expect((found as? WebIdentitySource)?.endpoint.origin == origin)
        }
    }

    @Test("Files of tokens are read at each renewal, and are one word")
    func tokens() throws {
        let folder = TemporaryFolder()
        let server = try ScriptedServer {
            StandIn.container.answer($0, StandIn.container.document(Self.key))
        }
        let variables = try StandIn.container.variables(server.url, folder)
        _ = try Self.read(variables)
        try folder.write("token", Array("other\r\n".utf8))
        _ = try Self.read(variables)
        #expect(server.requests.map { $0.headers["authorization"] } == ["token", "other"])
        let open = variables.filter { $0.key.hasSuffix("URI") }
        _ = try Self.read(open.merging(["AWS_CONTAINER_AUTHORIZATION_TOKEN": "Bearer x"]) { $1 })
        #expect(server.requests[2].headers["authorization"] == "Bearer x")
        _ = try Self.read(open)
        #expect(server.requests[3].headers["authorization"] == nil)
        for (text, words) in [
            ("", "it is empty"), ("\n", "it is empty"), ("a\r\nHost: b", "it is no token"),
            ("a\u{0}b", "it is no token"),
        ] {
            try folder.write("token", Array(text.utf8))
            let error = try #require(throws: ObjectStoreError.self) { try Self.read(variables) }
            #expect("\(error)".contains(words), "\(error)")
        }
        let error = try #require(throws: ObjectStoreError.self) {
            try Self.read(open.merging(["AWS_CONTAINER_AUTHORIZATION_TOKEN": "a\nb: c"]) { $1 })
        }
        #expect("\(error)".contains("control characters"))
        #expect(server.requestCount == 4)
    }

    @Test("What answers with an error is named with its words", arguments: StandIn.allCases)
    func refused(source: StandIn) throws {
        guard source != .process else { return }
        for (status, body, kind, words) in [
            (
                400,
                "<ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>bad</Message></Error></ErrorResponse>",
                ObjectStoreError.Kind.noCredentials, "400 InvalidIdentityToken (bad)"
            ),
            (403, #"{"code":"NoRole","message":"none\n"}"#, .noCredentials, "403 NoRole (none·)"),
            (404, "<html>", .noCredentials, ": 404"), (302, "", .noCredentials, ": 302"),
            (503, "", .unavailable, ": 503"), (429, "", .unavailable, ": 429"),
            (500, String(repeating: "x", count: 70_000), .unavailable, ": 500"),
        ] {
            // Instance metadata that cannot give a token may be no instance metadata.
            let server = try ScriptedServer { request in
                request.method == "PUT"
                    ? source.answer(request, "") : [.answer(status, ["Location: /x"], body: body)]
            }
            let folder = TemporaryFolder()
            let variables = try source.variables(server.url, folder)
            let error = try #require(throws: ObjectStoreError.self) { try Self.read(variables) }
            #expect(error.kind == kind && "\(error)".contains(words), "\(error)")
        }
    }

    @Test("A machine without instance metadata has no credentials, and says so")
    func noInstance() throws {
        let server = try ScriptedServer { _ in [.close] }
        for address in [server.url, "http://127.0.0.1:1"] {
            let error = try #require(throws: ObjectStoreError.self) {
                try Self.read(["AWS_EC2_METADATA_SERVICE_ENDPOINT": address])
            }
            #expect(error.kind == .noCredentials)
            #expect("\(error)".contains("; instance metadata: \(address): "), "\(error)")
        }
    }
}
