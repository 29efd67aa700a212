/// The removal of a notification with all its parts.
public struct Removal: Sendable {
    /// Which.
    public var id: String
    /// The device it comes from.
    public var device: String?
    /// What must hold of it.
    public var condition = Condition.none

    /// A removal.
    public init(id: String, device: String? = nil, condition: Condition = .none) {
        self.id = id
        self.device = device
        self.condition = condition
    }
}
