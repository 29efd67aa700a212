import AsyncHTTPClient
import BlobClient
import Foundation

/// A push for one device, as blobd rendered it.
struct Push: Sendable {
    let device: Registrations.Device
    let envelope: RenderedEnvelope
    /// When the notification expires.
    let expiry: Date

    /// The request that carries it.
    func request(to url: String, authorization: String) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        for header in envelope.headers {
            request.headers.add(name: header.name, value: header.value)
        }
        request.headers.add(name: "authorization", value: authorization)
        request.body = .bytes(envelope.bytes)
        return request
    }
}

/// Apple's or Google's: how a push is written for it, and what its answers mean.
protocol PushService: Sendable {
    var token: BearerToken { get }
    func request(for push: Push, bearer: String) -> HTTPClientRequest
    func verdict(on answer: PushAnswer) -> PushVerdict
}

struct PushError: Error, CustomStringConvertible {
    let description: String
}

struct PushAnswer: CustomStringConvertible {
    let status: UInt
    let body: String
    /// What the service asks for before the next attempt.
    let retryAfter: Duration?

    /// In one line.
    var description: String {
        "\(status) \(body.split(whereSeparator: \.isWhitespace).joined(separator: " "))"
    }
}

enum PushVerdict {
    case accepted
    /// The device's token has expired, or the app was deleted.
    case unregistered
    /// A new bearer token may be accepted.
    case bearerRefused
    /// The same push may be accepted later.
    case busy
    /// The same push would be refused again.
    case refused

    /// What the status says by itself.
    init(status: UInt) {
        switch status {
        case 200: self = .accepted
        case 429, 500, 502, 503, 504: self = .busy
        default: self = .refused
        }
    }
}
