public import Foundation

/// What a device asks blobd for in its user's name, with a token that the backend made (`blobd token`).
public struct DeviceClient: Sendable {
    private let site: String
    private let token: String

    /// A client of the user whom the token is for.
    ///
    /// - Parameter site: of the device socket, such as `https://push.example.com`.
    public init(site: String, token: String) {
        self.site = site
        self.token = token
    }

    /// A notification, as far as a device shows it.
    public struct Notification: Sendable, Hashable, Decodable {
        /// A button.
        public struct Action: Sendable, Hashable, Decodable {
            /// What is sent when it is tapped, and its label.
            public let identifier, title: String
            /// Whether it opens the app, is shown as a warning, and requires an unlocked device.
            public let foreground, destructive, authenticationRequired: Bool

            private enum CodingKeys: String, CodingKey {
                case identifier, title, foreground, destructive
                case authenticationRequired = "authentication_required"
            }
        }

        /// Its id.
        public let id: String
        /// What is shown.
        public let title, message: String?
        /// Its own buttons; nil: those of its category (``DeviceClient/buttons(of:)``).
        public let actions: [Action]?
        /// The name of its category.
        public let category: String?
        /// Whether it was read on any device.
        public let read: Bool
        /// `none`, `activated` or `dismissed`.
        public let actionState: String

        private enum CodingKeys: String, CodingKey {
            case id, title, message, actions, category, read
            case actionState = "action_state"
        }
    }

    /// A change of the user's notifications.
    public struct Change: Sendable, Hashable, Decodable {
        /// `published`, `updated`, `deleted`, `expired`, `left` or `category`.
        public let kind: String
        /// Of the notification.
        public let id: String?
        /// What it is now; nil where it is gone.
        public let notification: Notification?
    }

    /// Changes, and the cursor after which the next ones are.
    public struct Changes: Sendable, Hashable, Decodable {
        /// In their order.
        public let changes: [Change]
        /// The cursor after them.
        public let next: String
        /// Whether there are more changes now.
        public let hasMore: Bool

        private enum CodingKeys: String, CodingKey {
            case changes, next
            case hasMore = "more"
        }
    }

    /// A notification. Throws a ``Failure`` with 404 where it is gone.
    public func notification(_ id: String) async throws -> Notification {
        try decode(try await call("GET", "notifications/\(id.percentEncoded)"))
    }

    /// The buttons of a notification: its own, or else those of its category. Empty if the category was deleted.
    public func buttons(of notification: Notification) async throws -> [Notification.Action] {
        if let actions = notification.actions { return actions }
        guard notification.category != nil else { return [] }
        struct Category: Decodable { let actions: [Notification.Action] }
        do {
            let path = "notifications/\(notification.id.percentEncoded)/category"
            let category: Category = try decode(try await call("GET", path))
            return category.actions
        } catch let failure as Failure where failure.status == 404 {
            return []
        }
    }

    /// The changes after a cursor: `0` for all, `latest` for none. Waits for one for so many seconds.
    public func changes(since cursor: String, waitSeconds: Int = 0) async throws -> Changes {
        try decode(
            try await call(
                "GET", "changes?since=\(cursor.percentEncoded)&wait=\(waitSeconds)",
                seconds: 10 + Double(waitSeconds)))
    }

    /// Records what the user chose: `default` for a tap on the notification, `dismiss`, or a button's identifier. With
    /// a key, sending it again changes nothing.
    public func respond(to id: String, action: String, key: String = UUID().uuidString) async throws
    {
        let body = try JSONEncoder().encode(["action": action, "key": key])
        _ = try await call("POST", "notifications/\(id.percentEncoded)/responses", body)
    }

    /// Marks a notification as read, for all devices of the user.
    public func markAsRead(_ id: String) async throws {
        _ = try await call(
            "PATCH", "notifications/\(id.percentEncoded)", Data(#"{"read":true}"#.utf8))
    }

    private func call(
        _ method: String, _ path: String, _ body: Data? = nil, seconds: Double = 10
    ) async throws -> Data {
        try await HTTPSCall.send(
            method, "\(site)/d/me/\(path)", bearer: token, body, seconds: seconds)
    }

    private func decode<Document: Decodable>(_ data: Data) throws -> Document {
        try JSONDecoder().decode(Document.self, from: data)
    }
}
