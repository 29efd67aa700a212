import Foundation
import RichPush

/// What the app and its extension share: the site, the session at your backend, and the token for blobd. Keep both in the
/// keychain, in an access group of both targets; this example has them in the defaults of an app group.
enum Session {
    private static var defaults: UserDefaults? { UserDefaults(suiteName: "group.com.example.push") }

    static var isSignedIn: Bool { defaults?.string(forKey: "session") != nil }

    static func signIn(site: String, user: String, password: String) async throws {
        let session = try await Backend(site: site).signIn(user: user, password: password)
        defaults?.set(site, forKey: "site")
        defaults?.set(session, forKey: "session")
    }

    static func signOut() async throws {
        guard let (backend, session) = backend else { return }
        try await backend.signOut(session: session)
        for key in ["site", "session", "token"] { defaults?.removeObject(forKey: key) }
    }

    /// Tells your backend where this device can be reached, if that is known, and stores a new token.
    static func register(pushToken: String? = nil) async throws {
        guard let (backend, session) = backend else { return }
        let token = try await backend.register(session: session, pushToken: pushToken)
        defaults?.set(token, forKey: "token")
    }

    /// Calls blobd. A token that has expired is renewed first.
    static func call<Value: Sendable>(
        _ body: @Sendable (DeviceClient) async throws -> Value
    ) async throws -> Value {
        do {
            return try await body(client)
        } catch let failure as Failure where failure.status == 401 {
            try await register()
            return try await body(client)
        }
    }

    private static var client: DeviceClient {
        DeviceClient(
            site: defaults?.string(forKey: "site") ?? "",
            token: defaults?.string(forKey: "token") ?? "")
    }

    private static var backend: (Backend, session: String)? {
        guard let site = defaults?.string(forKey: "site"),
            let session = defaults?.string(forKey: "session")
        else { return nil }
        return (Backend(site: site), session)
    }
}
