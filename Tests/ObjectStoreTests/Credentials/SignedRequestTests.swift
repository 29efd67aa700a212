import Synchronization
import TestSupport
import Testing

@testable import ObjectStore

/// Requests to a bucket with keys that end, and with keys that are taken back.
@Suite struct SignedRequestTests {
    /// A bucket whose credentials are of a source.
    private static func bucket(
        _ server: ScriptedServer, _ issuer: KeyIssuer
    ) throws -> ObjectBucket {
        try ObjectStoreTests.bucket(
            server,
            environment: issuer.variables.merging([
                "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
            ]) { $1 }, credentialsClock: issuer.clock.clock)
    }

    private static func key(_ request: ScriptedServer.Request) -> String? {
        request.headers["authorization"]?.firstRange(of: "Credential=").map { range in
            String(
                request.headers["authorization"]?[range.upperBound...].prefix { $0 != "/" } ?? "")
        }
    }

    @Test(
        "Keys end and are renewed under load, and no request is refused",
        arguments: StandIn.allCases)
    func load(source: StandIn) throws {
        let issuer = try KeyIssuer(source)
        let clock = issuer.clock
        let keys = Mutex<Set<String>>([])
        let server = try ScriptedServer { request in
            guard let key = Self.key(request), let end = Int(key.dropFirst()), clock.now < end,
                request.headers["x-amz-security-token"] == "zeichen\(key)"
            else { return [.error(400, "ExpiredToken")] }
            _ = keys.withLock { $0.insert(key) }
            return [.stored]
        }
        let bucket = try Self.bucket(server, issuer)
        let (rounds, failures) = (Rounds(4), News())
        let isDone = Mutex(false)
        let threads = (0..<4).compactMap { number in
            ClientThread {
                do {
                    let client = try bucket.makeClient()
                    let body: [UInt8] = [1]
                    while !isDone.withLock({ $0 }) {
                        try client.put("a\(number)", body.span.bytes)
                        rounds.add(number)
                    }
                } catch { failures.add("\(error)") }
                rounds.add(number)
            }
        }
        // Three hours and a half. No request takes as long as the five minutes of a key that is renewed.
        let patience = Patience()
        for _ in 0..<105 where failures.all.isEmpty {
            let before = rounds.all
            while failures.all.isEmpty, zip(rounds.all, before).contains(where: { $0 <= $1 }) {
                try patience.wait(orThrow: "the load stands still")
            }
            try issuer.advance(120)
        }
        isDone.withLock { $0 = true }
        for thread in threads { thread.join() }
        #expect(failures.all == [])
        #expect(bucket.counters[.put].errors == 0 && bucket.counters[.put].retries == 0)
        // An hour less five minutes each.
        #expect((4...5).contains(keys.withLock { $0.count }), "\(keys.withLock { $0 })")
        print("SignedRequestTests.load \(source): \(bucket.counters[.put].requests) requests")
    }

    @Test(
        "A key that is taken back is replaced by the source's next one, and the request signed anew",
        arguments: StandIn.allCases,
        [
            (403, "AccessDenied"), (403, ""), (401, ""), (403, "InvalidAccessKeyId"),
            (400, "ExpiredToken"),
        ])
    func revoked(source: StandIn, refusal: (status: Int, code: String)) throws {
        let issuer = try KeyIssuer(source)
        let server = try ScriptedServer { request in
            guard Self.key(request) == "K3600" else { return [.stored] }
            return refusal.code.isEmpty
                ? [.answer(refusal.status)] : [.error(refusal.status, refusal.code)]
        }
        let bucket = try Self.bucket(server, issuer)
        let client = try bucket.makeClient()
        _ = try bucket.access.credentials.get(stop: StopSignal())
        try issuer.advance(1)
        let body: [UInt8] = [1]
        #expect(try client.create("a", body.span.bytes) == .created)
        #expect(server.requests.map { Self.key($0) } == ["K3600", "K3601"])
        #expect(source == .process || issuer.readCount == 2)
    }

    @Test("What no key may do asks the source once, and not again at once")
    func denied() throws {
        let issuer = try KeyIssuer(.webIdentity)
        let server = try ScriptedServer { _ in [.error(403, "AccessDenied")] }
        let bucket = try Self.bucket(server, issuer)
        let client = try bucket.makeClient()
        _ = try bucket.access.credentials.get(stop: StopSignal())
        for (seconds, readCount, requestCount) in [(1, 2, 2), (14, 2, 3), (1, 3, 5), (14, 3, 6)] {
            try issuer.advance(seconds)
            #expect(kind(try client.delete("a")) == .denied)
            #expect(issuer.readCount == readCount, "after \(seconds) s more")
            #expect(server.requestCount == requestCount)
        }
    }

    @Test("A refusal says what came of reading the source again")
    func words() throws {
        let issuer = try KeyIssuer(.container)
        let server = try ScriptedServer { _ in [.error(403, "InvalidAccessKeyId")] }
        let bucket = try Self.bucket(server, issuer)
        let client = try bucket.makeClient()
        _ = try bucket.access.credentials.get(stop: StopSignal())
        issuer.set(.isAway)
        let error = try #require(throws: ObjectStoreError.self) { try client.delete("a") }
        #expect(error.kind == .expiredCredentials)
        #expect("\(error)".contains("does not accept the access key K3600 of the container's role"))
        #expect("\(error)".contains("That failed: no credentials: environment: "), "\(error)")
        #expect(server.requestCount == 1)
    }

    @Test("A request whose credentials cannot be had says why, and sends nothing")
    func without() throws {
        let issuer = try KeyIssuer(.container)
        issuer.set(.isAway)
        let server = try ScriptedServer { _ in [.stored] }
        let client = try Self.bucket(server, issuer).makeClient()
        let body: [UInt8] = [1]
        for _ in 0..<2 {
            let error = try #require(throws: ObjectStoreError.self) {
                try client.put("a", body.span.bytes)
            }
            #expect(error.isTransient && "\(error)".contains("; container: http://127.0.0.1:"))
        }
        #expect(server.requestCount == 0 && issuer.requestCount == 1)
        issuer.set(.issues)
        try issuer.advance(15)
        try client.put("a", body.span.bytes)
    }
}

/// How many requests each of several threads has done.
private final class Rounds: Sendable {
    private let counts: Mutex<[Int]>

    init(_ count: Int) { counts = Mutex(Array(repeating: 0, count: count)) }

    var all: [Int] { counts.withLock { $0 } }

    func add(_ number: Int) { counts.withLock { $0[number] += 1 } }
}
