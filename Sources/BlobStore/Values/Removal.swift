/// The removal of a notification with all its parts.
public struct Removal: Sendable {
    /// The notification's id.
    public var id: String
    /// The device that removes it, 1…64 bytes; nil: none is named.
    public var device: String?
    /// What must be true of the notification, or the removal is refused.
    public var condition = Condition.none

    /// A removal.
    public init(id: String, device: String? = nil, condition: Condition = .none) {
        self.id = id
        self.device = device
        self.condition = condition
    }
}
