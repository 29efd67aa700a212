import Foundation

/// Your backend, with the calls of Examples/python/backend.py.
public struct Backend: Sendable {
    private let site: String

    /// - Parameter site: its address, such as `https://push.example.com`.
    public init(site: String) {
        self.site = site
    }

    /// Signs in. Returns the session, with which the device registers until it signs out.
    public func signIn(user: String, password: String) async throws -> String {
        struct Answer: Decodable { let session: String }
        let body = try JSONEncoder().encode(["user": user, "password": password])
        let data = try await HTTPSCall.send("POST", "\(site)/sign-in", bearer: nil, body)
        return try JSONDecoder().decode(Answer.self, from: data).session
    }

    /// Says where the device can be reached, if it has a push token. Returns a new token for ``DeviceClient``.
    public func register(session: String, pushToken: String?) async throws -> String {
        struct Answer: Decodable { let token: String }
        let device = pushToken.map { ["platform": "apns", "token": $0] } ?? [:]
        let body = try JSONEncoder().encode(device)
        let data = try await HTTPSCall.send("PUT", "\(site)/devices", bearer: session, body)
        return try JSONDecoder().decode(Answer.self, from: data).token
    }

    /// No more pushes for this device, and no new tokens.
    public func signOut(session: String) async throws {
        _ = try await HTTPSCall.send("DELETE", "\(site)/devices", bearer: session)
    }
}
