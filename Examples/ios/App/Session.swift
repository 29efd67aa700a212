import Foundation
import RichPush

/// What the app and its extension share: the site, and the token that your backend made for this user and device. Keep
/// the token in the keychain, in an access group of both; this example has it in the defaults of an app group.
enum Session {
    private static var defaults: UserDefaults? { UserDefaults(suiteName: "group.com.example.push") }

    static var client: DeviceClient? {
        guard let site = defaults?.string(forKey: "site").flatMap({ URL(string: $0) }),
            let token = defaults?.string(forKey: "token")
        else { return nil }
        return DeviceClient(site: site, token: token)
    }

    /// Tells your backend where this device can be reached.
    static func register(apnsToken: String) async {
        guard let backend = defaults?.string(forKey: "backend").flatMap({ URL(string: $0) }),
            let owner = defaults?.string(forKey: "owner")
        else { return }
        try? await DeviceRegistration(owner: owner, token: apnsToken).send(to: backend)
    }
}
