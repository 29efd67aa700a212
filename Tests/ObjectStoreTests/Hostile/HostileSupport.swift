import TestSupport

@testable import ObjectStore

/// Limits with which a server's thread has all the time that a machine which is slow and busy may need to answer.
var patientLimits: ObjectStoreLimits {
    var limits = ObjectStoreLimits()
    limits.connectMilliseconds = 600_000
    limits.requestMilliseconds = 600_000
    limits.stallMilliseconds = 600_000
    limits.nearConnectMilliseconds = 600_000
    limits.credentialsMilliseconds = 600_000
    return limits
}

/// The same, and what is tried again is so at once, and not often.
var quickLimits: ObjectStoreLimits {
    var limits = patientLimits
    limits.attemptCountMax = 3
    limits.backoffMilliseconds = 1
    limits.backoffMillisecondsMax = 5
    return limits
}

/// A bucket at a scripted server.
func bucket(
    _ server: ScriptedServer, limits: ObjectStoreLimits = quickLimits,
    environment: [String: String] = [:], clock: SigningClock = SigningClock(),
    credentialsClock: CredentialsClock = CredentialsClock()
) throws -> ObjectBucket {
    let variables = [
        "AWS_ENDPOINT_URL": server.url, "AWS_ACCESS_KEY_ID": "id",
        "AWS_SECRET_ACCESS_KEY": "secret",
    ].merging(environment) { $1 }
    return ObjectBucket(
        try ObjectStoreURL("s3://bucket/store"),
        access: try ObjectStoreAccess(
            ProcessEnvironment(variables), limits: limits, clock: credentialsClock),
        limits: limits, clock: clock)
}

/// A server and a client that stays connected to it.
struct Scene {
    let server: ScriptedServer
    let bucket: ObjectBucket
    let client: ObjectClient
    let stop = StopSignal()

    init(
        limits: ObjectStoreLimits = quickLimits, _ script: @escaping ScriptedServer.Script
    ) throws {
        server = try ScriptedServer(script)
        bucket = try ObjectStoreTests.bucket(server, limits: limits)
        client = try bucket.makeClient(stop: stop)
    }

    func create(_ body: String = "body") throws(ObjectStoreError) -> CreateOutcome {
        let bytes = Array(body.utf8)
        return try client.create("name", bytes.span.bytes)
    }

    func put() throws(ObjectStoreError) {
        let bytes = Array("body".utf8)
        try client.put("name", bytes.span.bytes)
    }

    func get(byteCountMax: Int = 1 << 20) throws(ObjectStoreError) -> String? {
        try client.get("name", byteCountMax: byteCountMax).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    private func createKnowingly() throws(ObjectStoreError) {
        if case .unknown = try create() { throw ObjectStoreError(.unavailable, "unknown") }
    }

    /// Each operation's error; nil where it has none. A create has one or an unknown outcome.
    func kinds() -> [ObjectStoreError.Kind?] {
        [
            kind(try createKnowingly()), kind(try get()), kind(try client.list("")),
            kind(try client.delete("name")),
        ]
    }
}

/// The kind of the error that a call throws.
func kind<Result>(
    _ call: @autoclosure () throws(ObjectStoreError) -> Result
) -> ObjectStoreError.Kind? {
    do throws(ObjectStoreError) {
        _ = try call()
        return nil
    } catch {
        return error.kind
    }
}

extension CreateOutcome {
    var isUnknown: Bool { if case .unknown = self { true } else { false } }
}

/// What a listing without objects is.
let emptyListing = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"
