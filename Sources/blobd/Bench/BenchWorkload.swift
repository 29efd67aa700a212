import ArgumentParser
import BlobProtocol

/// Which dialect a run speaks.
enum BenchDialect: String, ExpressibleByArgument, CaseIterable, Sendable {
    case binary
    case http
}

/// What a run asks for, again and again.
struct BenchWorkload: Sendable {
    var dialect: BenchDialect
    /// Whether it publishes instead of fetching.
    var publishes: Bool
    var payloads: BenchPayloads
    /// Tells the ids and bytes of this run's publishes from those of others.
    var seed: UInt64

    /// Publishes use this many ids in turn, so that the store stays small.
    static let publishedIDCount = 10_000

    /// What must be said first on a connection; empty when nothing must.
    func opening() throws -> [UInt8] {
        guard dialect == .binary else { return [] }
        var bytes: [UInt8] = []
        try RequestFrame.compose(.hello, requestID: 0, into: &bytes) {
            (head: inout [UInt8]) throws(ProtocolError) in
            Hello.Request(lowestVersion: Wire.version, highestVersion: Wire.version)
                .compose(into: &head)
        }
        return bytes
    }

    /// A request to fetch payload `index`.
    func fetch(_ index: Int) throws -> [UInt8] {
        let id = payloads.id(index)
        guard dialect == .binary else {
            return Array("GET /v1/notifications/\(id)/payload HTTP/1.1\r\nHost: b\r\n\r\n".utf8)
        }
        var bytes: [UInt8] = []
        try RequestFrame.compose(.get, requestID: UInt32(index), into: &bytes) {
            (head: inout [UInt8]) throws(ProtocolError) in
            try Get.Request.compose(id: id, into: &head)
        }
        return bytes
    }

    /// The head of the publish number `number` and the first bytes of its body, which make the body
    /// unlike any other.
    func publish(_ number: UInt64) throws -> [UInt8] {
        let id = "bench-publish-\(number % UInt64(Self.publishedIDCount))"
        var bytes: [UInt8] = []
        switch dialect {
        case .http:
            bytes = Array(
                "PUT /v1/notifications/\(id)/payload?ttl=3600 HTTP/1.1\r\nHost: b\r\nContent-Length: \(payloads.byteCount)\r\n\r\n"
                    .utf8)
        case .binary:
            try RequestFrame.compose(
                .put, flags: .ttlGiven, requestID: UInt32(truncatingIfNeeded: number),
                bodyByteCount: UInt64(payloads.byteCount), into: &bytes
            ) { (head: inout [UInt8]) throws(ProtocolError) in
                try Put.Draft(id: id, ttlSeconds: 3_600).compose(into: &head)
            }
        }
        withUnsafeBytes(of: (number &+ 1) ^ (seed << 40)) { stamp in
            bytes.append(contentsOf: stamp.prefix(payloads.byteCount))
        }
        return bytes
    }

    /// How many bytes of a published body ``publish(_:)`` gives; the rest is the pool's.
    var stampByteCount: Int { min(8, payloads.byteCount) }
}
