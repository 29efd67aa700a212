public import Foundation

/// Responses of the user, each in a file until blobd has it: also if there is no network now, or the app is ended.
public struct ResponseOutbox: Sendable {
    private struct Response: Codable {
        let id, action: String
        /// With which blobd records the response once, however often it is sent.
        var key = UUID().uuidString
    }

    private let folder: URL

    /// - Parameter folder: of its own. It is created with the first response.
    public init(folder: URL) {
        self.folder = folder
    }

    /// Keeps a response: `default` for a tap on the notification, `dismiss`, or a button's identifier.
    public func add(_ action: String, to id: String) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // Names are in the order of the responses.
        let name = String(format: "%015.3f", Date().timeIntervalSince1970) + "-\(UUID().uuidString)"
        try JSONEncoder().encode(Response(id: id, action: action))
            .write(to: folder.appendingPathComponent(name), options: .atomic)
    }

    /// Sends what is kept, oldest first. What blobd refuses for good, such as a response to a notification that is gone,
    /// is removed like what it accepts.
    ///
    /// - Throws: a ``Failure`` that may pass. The rest is kept for the next time.
    public func send(with client: DeviceClient) async throws {
        let files = try? FileManager.default.contentsOfDirectory(
            at: folder, includingPropertiesForKeys: nil)
        for file in (files ?? []).sorted(by: { $0.lastPathComponent < $1.lastPathComponent }) {
            // Another call of this function may have sent it meanwhile.
            guard let data = try? Data(contentsOf: file) else { continue }
            if let response = try? JSONDecoder().decode(Response.self, from: data) {
                do {
                    try await client.respond(
                        to: response.id, action: response.action, key: response.key)
                } catch let failure as Failure where !failure.isTemporary {}
            }
            try? FileManager.default.removeItem(at: file)
        }
    }
}
