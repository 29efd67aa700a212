import AsyncHTTPClient
import Foundation
import JWTKit
import Synchronization

/// https://developer.apple.com/documentation/usernotifications/sending-notification-requests-to-apns
final class APNs: PushService {
    /// A provider token. The key's id is in its header.
    private struct Claims: JWTPayload {
        /// The team.
        let iss: String
        let iat: Int

        func verify(using algorithm: some JWTAlgorithm) {}
    }

    let token: BearerToken
    private let url: String
    /// The app's bundle id.
    private let topic: String
    private let hasAccepted = Atomic(false)

    /// Nil without `APNS_KEY`.
    init?(_ environment: Variables) async throws {
        guard let file = environment["APNS_KEY"] else { return nil }
        let team = try environment.require("APNS_TEAM_ID")
        let keyID = JWKIdentifier(string: try environment.require("APNS_KEY_ID"))
        topic = try environment.require("APNS_TOPIC")
        url = environment["APNS_URL"] ?? "https://api.push.apple.com"
        let key = try ES256PrivateKey(pem: String(contentsOfFile: file, encoding: .utf8))
        let keys = await JWTKeyCollection().add(ecdsa: key, kid: keyID)
        token = BearerToken {
            let claims = Claims(iss: team, iat: Int(Date.now.timeIntervalSince1970))
            // Apple refuses tokens older than an hour, and a new one within 20 minutes.
            return (try await keys.sign(claims, kid: keyID), .seconds(50 * 60))
        }
    }

    /// The envelope contains `apns-push-type`, `apns-priority`, `apns-expiration`, `apns-collapse-id`.
    func request(for push: Push, bearer: String) -> HTTPClientRequest {
        // A device chose its handle; it must not choose the path.
        let segment = CharacterSet.urlPathAllowed.subtracting(CharacterSet(charactersIn: "/"))
        let handle = push.device.handle.addingPercentEncoding(withAllowedCharacters: segment) ?? ""
        var request = push.request(
            to: "\(url)/3/device/\(handle)", authorization: "bearer \(bearer)")
        request.headers.add(name: "apns-topic", value: topic)
        return request
    }

    func verdict(on answer: PushAnswer) -> PushVerdict {
        switch answer.status {
        case 200: hasAccepted.store(true, ordering: .relaxed)
        case 410: return .unregistered
        case 403 where answer.body.contains("ExpiredProviderToken"): return .bearerRefused
        case 400 where answer.body.contains("BadDeviceToken"):
            // Each of Apple's two servers calls the other's tokens bad, and a wrong APNS_URL must not
            // drop every device. A server that has accepted a push is the right one.
            return hasAccepted.load(ordering: .relaxed) ? .unregistered : .refused
        default: break
        }
        return PushVerdict(status: answer.status)
    }
}
