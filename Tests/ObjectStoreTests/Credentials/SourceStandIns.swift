import Glibc
import Synchronization
import TestSupport
import Testing

@testable import ObjectStore

/// The provider of the source that these variables set up.
func provider(
    _ variables: [String: String], limits: ObjectStoreLimits = patientLimits,
    clock: CredentialsClock = CredentialsClock(),
    onRenewalFailure: @escaping @Sendable (String) -> Void = { _ in }
) throws -> CredentialsProvider {
    try CredentialsProvider(
        CredentialSources.find(ProcessEnvironment(variables), region: "eu-central-1"),
        certificatesPath: nil, limits: limits, clock: clock, onRenewalFailure: onRenewalFailure)
}

/// Clocks that stand still until a test moves them.
final class StillClock: Sendable {
    /// Seconds since 2026-12-01.
    private let seconds = Mutex(0)
    static let begin: Int64 = 1_796_083_200_000

    var now: Int { seconds.withLock { $0 } }

    func advance(_ seconds: Int) { self.seconds.withLock { $0 += seconds } }

    var clock: CredentialsClock {
        var clock = CredentialsClock()
        clock.wallMilliseconds = { Self.begin + Int64(self.now) * 1_000 }
        // A machine that was started long after 1970.
        clock.bootMilliseconds = { 77_000 + self.now * 1_000 }
        return clock
    }
}

/// A key that ends so many seconds after 2026-12-01.
struct IssuedKey: Sendable {
    var id: String
    var endsAt: Int?

    /// The members of a document of credentials, with the token's name.
    func document(_ token: String, more: String = "") -> String {
        let end = endsAt.map { #","Expiration":"\#(Self.text($0))""# } ?? ""
        return
            #"{\#(more)"AccessKeyId":"\#(id)","SecretAccessKey":"geheim","\#(token)":"zeichen\#(id)"\#(end)}"#
    }

    static func text(_ seconds: Int) -> String {
        let all = (seconds / 86_400 + 1, seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60)
        func two(_ number: Int) -> String { (number < 10 ? "0" : "") + "\(number)" }
        return "2026-12-\(two(all.0))T\(two(all.1)):\(two(all.2)):\(two(all.3))Z"
    }
}

/// A kind of source that a test can stand in for.
enum StandIn: String, CaseIterable, Sendable {
    case webIdentity, process, container, instance

    /// What sets it up, in a folder for its files.
    func variables(_ url: String, _ folder: TemporaryFolder) throws -> [String: String] {
        switch self {
        case .webIdentity:
            [
                "AWS_ENDPOINT_URL_STS": url, "AWS_ROLE_ARN": "arn:aws:iam::1:role/blobd",
                "AWS_WEB_IDENTITY_TOKEN_FILE":
                    try folder.write("token", Array("a+b/c.d==\n".utf8)),
            ]
        case .process:
            [
                "AWS_CONFIG_FILE": try folder.write(
                    "config",
                    Array("[default]\ncredential_process = cat '\(folder)/printed'\n".utf8))
            ]
        case .container:
            [
                "AWS_CONTAINER_CREDENTIALS_FULL_URI": "\(url)/v1/credentials?id=7",
                "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE":
                    try folder.write("token", Array("token".utf8)),
            ]
        case .instance: ["AWS_EC2_METADATA_SERVICE_ENDPOINT": "\(url)/"]
        }
    }

    /// What it gives for a key.
    func document(_ key: IssuedKey) -> String {
        switch self {
        case .webIdentity:
            """
            <AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
            <AssumeRoleWithWebIdentityResult><Audience>a</Audience><Credentials>
            <AccessKeyId>\(key.id)</AccessKeyId><SecretAccessKey>geheim</SecretAccessKey>
            <SessionToken>zeichen\(key.id)</SessionToken>
            \(key.endsAt.map { "<Expiration>\(IssuedKey.text($0))</Expiration>" } ?? "")
            </Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>
            """
        case .process: key.document("SessionToken", more: #""Version":1,"#)
        case .container: key.document("Token", more: #""RoleArn":"arn","#)
        case .instance: key.document("Token", more: #""Code":"Success","Type":"AWS-HMAC","#)
        }
    }

    /// Answers a request with a document where one is asked for.
    func answer(_ request: ScriptedServer.Request, _ document: String) -> [ScriptedServer.Step] {
        guard self == .instance else { return [.answer(200, body: document)] }
        switch (request.method, request.target) {
        case ("PUT", "/latest/api/token"): return [.answer(200, body: "sesam")]
        case _ where request.headers["x-aws-ec2-metadata-token"] != "sesam": return [.answer(401)]
        case ("GET", "/latest/meta-data/iam/security-credentials/"):
            return [.answer(200, body: "blobd-role\n")]
        case ("GET", "/latest/meta-data/iam/security-credentials/blobd-role"):
            return [.answer(200, body: document)]
        default: return [.answer(404)]
        }
    }

    /// Whether this request is one for the document.
    func isRead(_ request: ScriptedServer.Request) -> Bool {
        self != .instance || request.target.hasSuffix("/blobd-role")
    }

    /// A server and a folder that give a document.
    func start(
        _ document: String
    ) throws -> (server: ScriptedServer, variables: [String: String], folder: TemporaryFolder) {
        let folder = TemporaryFolder()
        try folder.write("printed", Array(document.utf8))
        let server = try ScriptedServer { answer($0, document) }
        return (server, try variables(server.url, folder), folder)
    }
}

/// A source that issues a key of an hour with each read, named by its end: `K3600` at first. A program issues one a time.
final class KeyIssuer: Sendable {
    enum Mode: Sendable {
        case issues, isAway, hangs, garbles
    }

    let clock = StillClock()
    let variables: [String: String]
    private let source: StandIn
    private let server: ScriptedServer
    private let folder: TemporaryFolder
    private let shared: Shared

    private final class Shared: Sendable {
        let state = Mutex((mode: Mode.issues, readCount: 0, lifetime: 3_600))
    }

    init(_ source: StandIn) throws {
        self.source = source
        let (clock, shared) = (clock, Shared())
        self.shared = shared
        folder = TemporaryFolder()
        server = try ScriptedServer { request in
            shared.state.withLock { state in
                switch state.mode {
                case .isAway: return [.answer(503)]
                case .hangs: return [.hold]
                case .garbles: return source.answer(request, "{")
                case .issues:
                    if source.isRead(request) { state.readCount += 1 }
                    let key = Self.key(clock.now + state.lifetime)
                    return source.answer(request, source.document(key))
                }
            }
        }
        variables = try source.variables(server.url, folder)
        try advance(0)
    }

    private static func key(_ end: Int) -> IssuedKey { IssuedKey(id: "K\(end)", endsAt: end) }

    /// How often a server has issued one.
    var readCount: Int { shared.state.withLock { $0.readCount } }

    func set(_ mode: Mode) { shared.state.withLock { $0.mode = mode } }

    /// How long a key is valid, in seconds.
    func set(lifetime: Int) { shared.state.withLock { $0.lifetime = lifetime } }

    func waitForRequests(_ count: Int) throws { try server.waitForRequests(count) }

    var requestCount: Int { server.requestCount }

    func advance(_ seconds: Int) throws {
        clock.advance(seconds)
        guard source == .process else { return }
        let document = source.document(Self.key(clock.now + 3_600))
        try folder.write("next", Array(document.utf8))
        guard rename(folder.path("next"), folder.path("printed")) == 0 else {
            throw TestFailure("rename", errno)
        }
    }
}
