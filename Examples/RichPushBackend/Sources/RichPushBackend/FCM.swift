import AsyncHTTPClient
import Foundation
import JWTKit

/// https://firebase.google.com/docs/cloud-messaging/send/v1-api
struct FCM: PushService {
    /// A service account's file.
    private struct Account: Decodable {
        let projectId, clientEmail, privateKeyId, privateKey, tokenUri: String
    }

    /// With this, the account asks for an access token (RFC 7523).
    private struct Assertion: JWTPayload {
        let iss, scope, aud: String
        let iat, exp: Int

        func verify(using algorithm: some JWTAlgorithm) {}
    }

    private struct Access: Decodable {
        let accessToken: String
        let expiresIn: Int
    }

    let token: BearerToken
    private let url: String

    /// Nil without `FCM_ACCOUNT`.
    init?(_ environment: Variables, _ client: PushClient) async throws {
        guard let file = environment["FCM_ACCOUNT"] else { return nil }
        let data = try Data(contentsOf: URL(fileURLWithPath: file))
        let account = try Self.decoder.decode(Account.self, from: data)
        let base = environment["FCM_URL"] ?? "https://fcm.googleapis.com"
        url = "\(base)/v1/projects/\(account.projectId)/messages:send"
        let keyID = JWKIdentifier(string: account.privateKeyId)
        let key = try Insecure.RSA.PrivateKey(pem: account.privateKey)
        let keys = await JWTKeyCollection().add(rsa: key, digestAlgorithm: .sha256, kid: keyID)
        token = BearerToken {
            let now = Int(Date.now.timeIntervalSince1970)
            let assertion = Assertion(
                iss: account.clientEmail,
                scope: "https://www.googleapis.com/auth/firebase.messaging",
                aud: account.tokenUri, iat: now, exp: now + 3_600)
            let signed = try await keys.sign(assertion, kid: keyID)
            let access = try await Self.access(for: signed, at: account.tokenUri, client)
            return (access.accessToken, .seconds(access.expiresIn - 60))
        }
    }

    private static var decoder: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return decoder
    }

    private static func access(
        for assertion: String, at url: String, _ client: PushClient
    ) async throws -> Access {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/x-www-form-urlencoded")
        let grant = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
        request.body = .bytes(Array("grant_type=\(grant)&assertion=\(assertion)".utf8))
        let answer = try await client.ask(request)
        guard answer.status == 200 else {
            throw PushError(description: "no access token: \(answer)")
        }
        return try decoder.decode(Access.self, from: Data(answer.body.utf8))
    }

    /// The envelope contains the device's token, `ttl` and `priority`, but no `collapse_key`: FCM
    /// stores messages with at most four keys for a device that is offline. If each notification were
    /// a key, like APNs' `apns-collapse-id`, the device would lose the others.
    func request(for push: Push, bearer: String) -> HTTPClientRequest {
        push.request(to: url, authorization: "Bearer \(bearer)")
    }

    func verdict(on answer: PushAnswer) -> PushVerdict {
        switch answer.status {
        case 404 where answer.body.contains("UNREGISTERED"): .unregistered
        case 401: .bearerRefused
        default: PushVerdict(status: answer.status)
        }
    }
}
