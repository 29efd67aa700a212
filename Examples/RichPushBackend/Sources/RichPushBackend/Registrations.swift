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

    /// Whether the handle is visible ASCII, as every push service's are.
    var hasValidHandle: Bool {
        (1...4_096).contains(handle.utf8.count)
            && handle.utf8.allSatisfy { (0x21...0x7E).contains($0) }
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

extension EnvelopePlatform: @retroactive Codable {}

/// Which devices are whose. The tutorial leaves that to its notification hub; here it is kept in a
/// file, which is replaced whole with each change. A device whose registration is not known is told
/// that it is gone, and registers again.
actor Registrations {
    /// A device that can be pushed to.
    struct Device: Codable, Hashable {
        let platform: EnvelopePlatform
        let handle: String
    }

    private struct Registration: Codable, Equatable {
        let user: String
        /// Nil until the device has said what it is.
        var device: Device?
        /// Of a registration that was asked for with it.
        var handle: String?
        var tags: Set<String> = []
    }

    private let file: URL
    private var registrations: [String: Registration] = [:]

    init(file path: String) throws {
        file = URL(fileURLWithPath: path)
        guard FileManager.default.fileExists(atPath: path) else { return }
        registrations = try JSONDecoder().decode(
            [String: Registration].self, from: Data(contentsOf: file))
    }

    private func save(_ changed: [String: Registration]) throws {
        guard changed != registrations else { return }
        try JSONEncoder().encode(changed).write(to: file, options: .atomic)
        registrations = changed
    }

    /// A registration id for a user's device. The same handle gets the same id again; another user's
    /// registration of that handle ends, since the device has another user now.
    func makeID(for user: String, handle: String?) throws -> String {
        var changed = registrations
        var found: String?
        if let handle {
            for (id, registration) in registrations
            where (registration.device?.handle ?? registration.handle) == handle {
                if registration.user == user, found == nil {
                    found = id
                } else {
                    changed[id] = nil
                }
            }
        }
        let id = found ?? UUID().uuidString
        if found == nil { changed[id] = Registration(user: user, device: nil, handle: handle) }
        try save(changed)
        return id
    }

    /// Says what the device of a registration is.
    ///
    /// - Returns: false when there is no such registration of that user.
    func update(
        _ id: String, of user: String, _ said: DeviceRegistration, _ service: EnvelopePlatform
    ) throws -> Bool {
        var changed = registrations
        guard var registration = registrations[id], registration.user == user else { return false }
        registration.device = Device(platform: service, handle: said.handle)
        // What tells users apart is not for a device to say.
        registration.tags = Set((said.tags ?? []).filter { !$0.hasPrefix("username:") })
        registration.tags.insert("username:\(user)")
        changed[id] = registration
        for (other, earlier) in registrations
        where other != id && earlier.device?.handle == said.handle {
            changed[other] = nil
        }
        try save(changed)
        return true
    }

    /// - Returns: false when there is no such registration of that user.
    func remove(_ id: String, of user: String) throws -> Bool {
        guard registrations[id]?.user == user else { return false }
        try save(registrations.filter { $0.key != id })
        return true
    }

    /// Drops a device that its push service does not know any more.
    func remove(_ device: Device) throws {
        try save(registrations.filter { $0.value.device != device })
    }

    /// The devices of a user, of one push service or of all.
    func devices(of user: String, on service: EnvelopePlatform?) -> [Device] {
        registrations.values
            .filter { $0.tags.contains("username:\(user)") }
            .compactMap(\.device)
            .filter { service == nil || $0.platform == service }
    }
}
