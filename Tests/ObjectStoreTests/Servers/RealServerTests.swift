import Dispatch
import Hashing
import Synchronization
import TestSupport
import Testing

@testable import ObjectStore

/// A short object.
private let one: [UInt8] = [1]

/// The client beside servers that others wrote: moto, and Ceph's gateway, which checks every signature.
@Suite struct RealServerTests {
    static let kinds: [ObjectServer.Kind] =
        (ObjectServer.hasMoto ? [.moto] : []) + (ObjectServer.hasRGW ? [.rgw] : [])

    @Test(
        "Both kinds of servers are here",
        .enabled(if: kinds == ObjectServer.Kind.allCases, "moto or Ceph is not here"))
    func kindsOfServers() {}

    /// A bucket with a prefix of its own.
    static func bucket(
        _ kind: ObjectServer.Kind, prefix: String = "s\(UInt32.random(in: .min ... .max))",
        name: String = "test", environment: [String: String] = [:],
        clock: SigningClock = SigningClock()
    ) throws -> ObjectBucket {
        let variables = try ObjectServer.shared(kind).variables.merging(environment) { $1 }
        return ObjectBucket(
            try ObjectStoreURL("s3://\(name)/\(prefix)"),
            access: try ObjectStoreAccess(ProcessEnvironment(variables)), limits: patientLimits,
            clock: clock)
    }

    /// Runs on a thread of its own: servers take their time.
    static func aside(_ body: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "object store").async {
                continuation.resume(with: Result { try body() })
            }
        }
    }

    @Test(
        "A role is taken with a web identity",
        .enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
    func webIdentity() async throws {
        try await Self.aside {
            let folder = TemporaryFolder()
            // moto has an STS at the same address, and accepts any token.
            let bucket = try Self.bucket(
                .moto,
                environment: [
                    "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
                    "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/blobd",
                    "AWS_WEB_IDENTITY_TOKEN_FILE": try folder.write(
                        "token", Array("abcdefgh".utf8)),
                ])
            let client = try bucket.makeClient()
            #expect(try client.create("a", one.span.bytes) == .created)
            #expect(try client.get("a", byteCountMax: 1) == one)
            let credentials = try bucket.access.credentials.get(stop: StopSignal())
            #expect(credentials.accessKeyID.hasPrefix("ASIA"))
            #expect(credentials.sessionToken != nil && credentials.expiration != nil)
        }
    }

    @Test("Objects are created, compared, read, listed and deleted", arguments: kinds)
    func roundTrip(kind: ObjectServer.Kind) async throws {
        try await Self.aside {
            let bucket = try Self.bucket(kind)
            let client = try bucket.makeClient()
            let seed = testSeed(15)
            var random = SeededGenerator(seed: seed)
            for count in [1, 4_096, 65_536, 3_000_001] {
                let bytes = random.bytes(count)
                let name = "object/\(count)"
                #expect(try client.get(name, byteCountMax: 1) == nil)
                #expect(try client.create(name, bytes.span.bytes) == .created)
                #expect(try client.create(name, one.span.bytes) == .exists)
                #expect(try client.get(name, byteCountMax: count) == bytes, "seed \(seed)")
                if count > 1 {
                    #expect(
                        ObjectStoreTests.kind(try client.get(name, byteCountMax: count - 1))
                            == .tooLarge)
                }
                let other = random.bytes(10)
                try client.put(name, other.span.bytes)
                #expect(try client.get(name, byteCountMax: 10) == other)
                try client.delete(name)
                try client.delete(name)
                #expect(try client.get(name, byteCountMax: 10) == nil)
            }
        }
    }

    @Test("Many keys are listed in pages, in their order, from any place", arguments: kinds)
    func listings(kind: ObjectServer.Kind) async throws {
        try await Self.aside {
            let client = try Self.bucket(kind).makeClient()
            let names = (0..<257).map {
                "log/\(String(repeating: "0", count: 6 - "\($0 * 7)".count))\($0 * 7)"
            }
            for name in names.shuffled() + ["base/1/a", "logs"] {
                _ = try client.create(name, one.span.bytes)
            }
            for keyCountMax in [1_000, 100, 64] {
                var found: [String] = []
                var position: ObjectListPosition?
                repeat {
                    let page = try client.list("log/", from: position, keyCountMax: keyCountMax)
                    #expect(page.objects.count <= keyCountMax)
                    found += page.objects.map(\.key)
                    position = page.next
                } while position != nil
                #expect(found == names)
            }
            let page = try client.list("log/", startAfter: names[250])
            #expect(page.objects.map(\.key) == Array(names[251...]) && page.next == nil)
            #expect(page.objects.allSatisfy { $0.byteCount == 1 && $0.modifiedMilliseconds != nil })
            #expect(
                try client.list("log/", startAfter: "log/000001").objects.first?.key == names[1])
            #expect(try client.list("none/").objects == [])
        }
    }

    @Test("Keys may have every byte that URLs encode", arguments: kinds)
    func keys(kind: ObjectServer.Kind) async throws {
        try await Self.aside {
            let client = try Self.bucket(kind, prefix: "a b+c%20&é?#").makeClient()
            var names = (0x20..<0x7F).filter { $0 != 0x2F }.map { code in
                "k/x\(Character(UnicodeScalar(UInt8(code))))y"
            }
            names += ["k/é", "k/日本", "k/😀", "k/%2F", "k/a+b c", "k/a=b&c=d", "k/...", "k/~"]
            for name in names {
                let bytes = Array(name.utf8)
                #expect(
                    try client.create(name, bytes.span.bytes) == .created, "\(name)")
                #expect(try client.get(name, byteCountMax: 99) == bytes, "\(name)")
            }
            let page = try client.list("k/")
            #expect(
                page.objects.map(\.key)
                    == names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
            #expect(try client.list("k/", startAfter: "k/x~").objects.first?.key == "k/x~y")
            for name in names { try client.delete(name) }
            #expect(try client.list("k/").objects == [])
        }
    }

    @Test("32 clients race for 100 names: one winner each", arguments: kinds)
    func race(kind: ObjectServer.Kind) async throws {
        try await Self.aside {
            let bucket = try Self.bucket(kind)
            let report = try ConditionalWriteProbe.full.run(bucket)
            #expect(report.isSound && report.soundNameCount == 100, "\(report)")
            #expect(try bucket.makeClient().list("").objects == [])
        }
    }

    @Test(
        "Wrong secrets, unknown keys, others' buckets and missing buckets are told apart",
        .enabled(if: ObjectServer.hasRGW, "ceph-mon, ceph-osd, radosgw or ceph-common is missing"))
    func refusals() async throws {
        try await Self.aside { () throws in
            func refusal(_ name: String, _ environment: [String: String]) throws -> ObjectStoreError
                .Kind?
            {
                let client = try Self.bucket(.rgw, name: name, environment: environment)
                    .makeClient()
                let kinds: [ObjectStoreError.Kind?] = [
                    ObjectStoreTests.kind(try client.create("a", one.span.bytes)),
                    ObjectStoreTests.kind(try client.list("")),
                    ObjectStoreTests.kind(try client.get("a", byteCountMax: 9)),
                    ObjectStoreTests.kind(try client.delete("a")),
                ]
                #expect(Set(kinds).count == 1, "\(kinds)")
                return kinds[0]
            }
            #expect(try refusal("test", [:]) == nil)
            #expect(try refusal("test", ["AWS_SECRET_ACCESS_KEY": "wrong"]) == .denied)
            #expect(try refusal("test", ["AWS_ACCESS_KEY_ID": "unknown"]) == .expiredCredentials)
            #expect(
                try refusal(
                    "test",
                    ["AWS_ACCESS_KEY_ID": "otherkey", "AWS_SECRET_ACCESS_KEY": "othersecret"])
                    == .denied)
            #expect(try refusal("missing-bucket", [:]) == .noBucket)
        }
    }

    @Test(
        "A clock ten years off is corrected by the server's",
        .enabled(if: ObjectServer.hasRGW, "ceph-mon, ceph-osd, radosgw or ceph-common is missing"),
        arguments: [-10, 10])
    func skewedClock(years: Int64) async throws {
        try await Self.aside {
            let clock = SigningClock { SigningClock().now.seconds + years * 365 * 86_400 }
            let bucket = try Self.bucket(.rgw, clock: clock)
            let client = try bucket.makeClient()
            #expect(try client.create("a", one.span.bytes) == .created)
            #expect(try client.get("a", byteCountMax: 1) == one)
            #expect((clock.offsetSeconds + years * 365 * 86_400).magnitude < 60)
        }
    }

    @Test(
        "Signatures are botocore's", .enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
    func botocore() async throws {
        try await Self.aside {
            let seed = testSeed(16)
            var random = SeededGenerator(seed: seed)
            func text(_ alphabet: String, _ counts: ClosedRange<Int>) -> String {
                let letters = Array(alphabet)
                return String(
                    (0..<counts.lowerBound + random.below(counts.count)).map { _ in
                        letters[random.below(letters.count)]
                    })
            }
            let odd = "abcXYZ019-._~ !\"#$%&'()*+,/:;<=>?@[]^`{|}é日😀"
            var lines: [String] = []
            var ours: [String] = []
            for _ in 0..<300 {
                let key = text(odd.replacing("/", with: ""), 1...20)
                let query = (0..<random.below(4)).map {
                    (name: "\($0)" + text(odd, 0...5), value: text(odd, 0...9))
                }
                let time = SigningTime(seconds: Int64(random.below(4_000_000_000)))
                let token = random.chance(50) ? text("abc/+=", 1...30) : nil
                let body = text(odd, 0...50)
                let signed = RequestSignature(
                    endpoint: try Endpoint("https://example.com:8443"), region: "eu-west-9"
                ).sign(
                    "PUT", path: "/bucket/\(key)", query: query,
                    headers: [
                        ("If-None-Match", "*"), ("Content-Type", "application/octet-stream"),
                    ],
                    bodyDigest: digest(of: body),
                    with: Credentials(
                        accessKeyID: "id", secretAccessKey: "se/cr+et", sessionToken: token,
                        source: ""),
                    at: time)
                ours.append(signed.headers.last?.value ?? "")
                let hex = { (text: String) in
                    text.utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
                }
                lines.append(
                    [signed.target, String(decoding: time.text, as: UTF8.self), token ?? "", body]
                        .map(hex).joined(separator: " "))
            }
            let (end, output, errors) = try run(
                [
                    "\(Files.package)/.build/object-store-venv/bin/python3",
                    "\(Files.package)/Tests/ObjectStores/sign.py",
                ], input: Array(lines.joined(separator: "\n").utf8))
            #expect(end == .exited(0), "\(errors)")
            let theirs = String(decoding: output, as: UTF8.self).split(separator: "\n").map {
                String($0)
            }
            #expect(theirs.count == 300)
            for (one, other) in zip(ours, theirs) {
                #expect(one.replacing(",", with: ", ") == other, "seed \(seed)")
            }
        }
    }
}
