import BlobServer
import Configuration

/// Why a configuration cannot be used: words for the operator, with the place.
struct ConfigurationError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// The file of a configuration, as a source for swift-configuration: one value for each key, whose names
/// are those of the settings.
struct ConfigurationFile: ConfigSnapshot {
    /// Bytes of a file.
    static let byteCountMax = 1 << 20

    let path: String
    /// Whether the file has nothing, not even a comment.
    let isEmpty: Bool
    private let entries: [String: YAMLEntries.Entry]

    var providerName: String { path }

    /// Reads a file.
    ///
    /// - Throws: what is wrong with it: it cannot be read, is no YAML, has a key that is no setting or is
    ///   given twice.
    init(reading path: String) throws(ConfigurationError) {
        self.path = path
        let bytes: [UInt8]
        do throws(SmallFile.Failure) {
            bytes = try SmallFile.read(path, byteCountMax: Self.byteCountMax)
        } catch {
            throw ConfigurationError("\(path): \(error.reason)")
        }
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw ConfigurationError("\(path): is not UTF-8")
        }
        isEmpty = bytes.allSatisfy { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: " ") }
        let parsed: YAMLEntries
        do throws(YAMLEntries.Failure) {
            parsed = try YAMLEntries(parsing: bytes)
        } catch {
            throw ConfigurationError("\(path):\(error.line): \(error.reason)")
        }
        var entries: [String: YAMLEntries.Entry] = [:]
        for entry in parsed.entries {
            func refuse(_ reason: String) -> ConfigurationError {
                ConfigurationError("\(path):\(entry.line): \(entry.key) \(reason)")
            }
            guard Setting.named[entry.key] != nil else {
                throw refuse("is not a setting" + NearestWord.hint(entry.key, Setting.named.keys))
            }
            if let first = entries[entry.key] {
                throw refuse("is given twice, first in line \(first.line)")
            }
            entries[entry.key] = entry
        }
        self.entries = entries
    }

    /// The line of a key that has a value.
    func line(of name: String) -> Int { entries[name]?.line ?? 0 }

    /// The text of a key that has one.
    func text(of name: String) -> String? {
        guard case .text(let text)? = entries[name]?.value, !text.isEmpty else { return nil }
        return text
    }

    func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
        let name = key.components.joined(separator: ".")
        guard let entry = entries[name] else { return LookupResult(encodedKey: name, value: nil) }
        func refuse(_ found: String) -> ConfigurationError {
            let expected = Setting.named[name]?.expected ?? ""
            return ConfigurationError(
                "\(path):\(entry.line): \(name) is \(found); it must be \(expected)")
        }
        let content: ConfigContent
        switch (entry.value, type) {
        case (.text(let text), .string): content = .string(text)
        case (.text(let text), _): content = .stringArray([text])
        case (.list(let texts), .stringArray): content = .stringArray(texts)
        case (.list, _): throw refuse("a list")
        case (.nothing, _): throw refuse("empty")
        case (.other(let found), _): throw refuse(found)
        }
        return LookupResult(encodedKey: name, value: ConfigValue(content, isSecret: false))
    }
}
