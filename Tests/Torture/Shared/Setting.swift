/// Something that a scenario can be told on the command line: `--its-name VALUE`, or without a value if it is a Bool.
@propertyWrapper
final class Setting<Value: LosslessStringConvertible> {
    private(set) var wrappedValue: Value
    private let short: Value?
    let help: String

    /// - Parameters:
    ///   - usual: what it is unless it is told.
    ///   - short: what it is then with `--short`; nil: the same.
    init(_ usual: Value, short: Value? = nil, _ help: String) {
        (wrappedValue, self.short, self.help) = (usual, short, help)
    }
}

/// A setting of any type.
protocol AnySetting: AnyObject {
    var help: String { get }
    var isFlag: Bool { get }
    /// What it is unless it is told, in words.
    var usual: String { get }
    func shorten()
    /// Returns false for a text that is no such value.
    func take(_ text: String) -> Bool
}

extension Setting: AnySetting {
    var isFlag: Bool { Value.self == Bool.self }
    var usual: String {
        let text = "\(wrappedValue)"
        return isFlag || text.isEmpty ? "" : " (\(text)\(short.map { "; short: \($0)" } ?? ""))"
    }
    func shorten() { if let short { wrappedValue = short } }
    func take(_ text: String) -> Bool {
        guard let value = Value(text) else { return false }
        wrappedValue = value
        return true
    }
}

/// The settings that are properties of something, by their names on the command line.
func settings(of owner: Any) -> [(name: String, setting: any AnySetting)] {
    Mirror(reflecting: owner).children.compactMap { label, value in
        guard let label, let setting = value as? any AnySetting else { return nil }
        // The wrapper of `idCount` is `_idCount`.
        let name = label.dropFirst().map { $0.isUppercase ? "-\($0.lowercased())" : "\($0)" }
        return ("--" + name.joined(), setting)
    }
}
