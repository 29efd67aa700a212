public import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Where a device can be reached, as Examples/python/backend.py wants to know it.
public struct DeviceRegistration: Sendable, Encodable {
    /// The user who is signed in.
    public let owner: String
    /// The push service.
    public let platform = "apns"
    /// What the push service knows the device by.
    public let token: String

    /// A registration with APNs.
    public init(owner: String, token: String) {
        self.owner = owner
        self.token = token
    }

    /// Tells the backend.
    public func send(to backend: URL) async throws {
        var request = URLRequest(url: backend.appendingPathComponent("devices"))
        request.httpMethod = "PUT"
        request.httpBody = try JSONEncoder().encode(self)
        _ = try await URLSession.shared.data(for: request)
    }
}
