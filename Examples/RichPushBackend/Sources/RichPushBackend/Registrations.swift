import BlobClient
import Foundation

/// What a device says of itself, as the tutorial's apps write it.
struct DeviceRegistration: Decodable {
    /// `apns`, `gcm` (or `fcm`), `wns`.
    var platform: String
    /// What its push service knows it by.
    var handle: String
    /// What it is interested in besides its user's notifications.
    var tags: [String]?

    private enum CodingKeys: String, CodingKey {
        case platform = "Platform"
        case handle = "Handle"
        case tags = "Tags"
    }

    /// Whose push service that is; nil for a platform that there is none of.
    var service: EnvelopePlatform? { Self.service(platform) }

    /// The push service of a name that the tutorial uses; nil for any other.
    static func service(_ name: String) -> EnvelopePlatform? {
        switch name.lowercased() {
        case "apns": .apns
        case "gcm", "fcm": .fcm
        case "wns": .wns
        default: nil
        }
    }
}

/// Which devices are whose. The tutorial leaves that to its notification hub; here it is kept for as
/// long as the program runs. A device whose registration is not known is told that it is gone, and
/// registers anew.
actor Registrations {
    /// A device that can be pushed to.
    struct Device {
        let platform: EnvelopePlatform
        let handle: String
    }

    private struct Registration {
        let user: String
        /// Nil until the device has said what it is.
        var device: Device?
        /// Of a registration that was asked for with it.
        var handle: String?
        var tags: Set<String> = []
    }

    private var registrations: [String: Registration] = [:]

    /// A registration id for a user's device. The same handle gets the same id again; another user's
    /// registration of that handle ends, since the device has another user now.
    func makeID(for user: String, handle: String?) -> String {
        var found: String?
        if let handle {
            for (id, registration) in registrations
            where (registration.device?.handle ?? registration.handle) == handle {
                if registration.user == user, found == nil {
                    found = id
                } else {
                    registrations[id] = nil
                }
            }
        }
        if let found { return found }
        let id = UUID().uuidString
        registrations[id] = Registration(user: user, device: nil, handle: handle)
        return id
    }

    /// Says what the device of a registration is.
    ///
    /// - Returns: false when there is no such registration of that user.
    func update(
        _ id: String, of user: String, _ said: DeviceRegistration, _ service: EnvelopePlatform
    ) -> Bool {
        guard var registration = registrations[id], registration.user == user else { return false }
        registration.device = Device(platform: service, handle: said.handle)
        // What tells users apart is not for a device to say.
        registration.tags = Set((said.tags ?? []).filter { !$0.hasPrefix("username:") })
        registration.tags.insert("username:\(user)")
        registrations[id] = registration
        for (other, earlier) in registrations
        where other != id && earlier.device?.handle == said.handle {
            registrations[other] = nil
        }
        return true
    }

    /// - Returns: false when there is no such registration of that user.
    func remove(_ id: String, of user: String) -> Bool {
        guard registrations[id]?.user == user else { return false }
        registrations[id] = nil
        return true
    }

    /// The devices of a user, of one push service or of all.
    func devices(of user: String, on service: EnvelopePlatform?) -> [Device] {
        registrations.values
            .filter { $0.tags.contains("username:\(user)") }
            .compactMap(\.device)
            .filter { service == nil || $0.platform == service }
    }
}
