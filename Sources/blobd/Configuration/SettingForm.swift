import ArgumentParser
import BlobProtocol
import Glibc
import Logging
import ObjectStore

struct SettingForm<Value: Sendable>: Sendable {
    let valueName: String
    /// What a value must be, for error messages.
    let expected: String
    /// Returns nil for anything else, or a value out of bounds.
    let parse: @Sendable (String) -> Value?
    let text: @Sendable (Value) -> String
    var bounds: String?
    var completion: CompletionKind?
    var kind = Setting.Kind.one

    private func within(_ bounds: ClosedRange<Value>) -> SettingForm where Value: Comparable {
        let words = "\(text(bounds.lowerBound)) to \(text(bounds.upperBound))"
        let parse = parse
        return SettingForm(
            valueName: valueName, expected: "\(expected), \(words)",
            parse: { text in parse(text).flatMap { bounds.contains($0) ? $0 : nil } },
            text: text, bounds: words, completion: completion)
    }
}

extension SettingForm where Value == String {
    static let file = path(.file())
    static let directory = path(.directory)

    private static func path(_ completion: CompletionKind) -> SettingForm {
        SettingForm(
            valueName: "path", expected: "a path", parse: { $0.isEmpty ? nil : $0 }, text: { $0 },
            completion: completion)
    }

    static let shard = SettingForm(
        valueName: "url", expected: "a bucket and a prefix, s3://bucket/prefix",
        parse: { (try? ObjectStoreURL($0)) == nil ? nil : $0 }, text: { $0 })

    static let line = SettingForm(
        valueName: "text", expected: "1 to 255 printable ASCII characters",
        parse: { text in
            let isRight =
                (1...255).contains(text.utf8.count)
                && text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
            return isRight ? text : nil
        }, text: { $0 })

    /// An address to which a path can be appended.
    static let site = SettingForm(
        valueName: "url",
        expected:
            "an address of at most 512 bytes that begins with https:// or http:// and does not end with /",
        parse: { text in
            let isRight =
                (text.hasPrefix("https://") || text.hasPrefix("http://")) && !text.hasSuffix("/")
                && text.utf8.count <= 512 && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
            return isRight ? text : nil
        }, text: { $0 })
}

extension SettingForm where Value == Int {
    static func size(_ bounds: ClosedRange<Int>) -> SettingForm {
        SettingForm(
            valueName: "size", expected: "a size such as 65536, 512KiB or 10MB",
            parse: { ByteCountText(argument: $0)?.byteCount },
            text: { ByteCountText($0).defaultValueDescription }
        ).within(bounds)
    }

    static func count(_ bounds: ClosedRange<Int>, of unit: String = "number") -> SettingForm {
        SettingForm(
            valueName: unit, expected: unit == "number" ? "a number" : "a number of \(unit)",
            parse: { ByteCountText.number(Substring($0)) }, text: { "\($0)" }
        ).within(bounds)
    }
}

extension SettingForm where Value: BinaryInteger {
    static func time(_ bounds: ClosedRange<Value>) -> SettingForm {
        time(milliseconds: 1, "a time such as 500ms, 90s, 24h or 30d").within(bounds)
    }

    static func lifetime(_ bounds: ClosedRange<Value>) -> SettingForm {
        time(milliseconds: 1_000, "a time such as 90s, 24h or 30d").within(bounds)
    }

    /// - Parameter unit: what the value counts.
    private static func time(milliseconds unit: Int, _ expected: String) -> SettingForm {
        SettingForm(
            valueName: "time", expected: expected,
            parse: { text in
                let time =
                    text == "0" ? DurationText(milliseconds: 0) : DurationText(argument: text)
                guard let milliseconds = time?.milliseconds, milliseconds.isMultiple(of: unit)
                else { return nil }
                return Value(exactly: milliseconds / unit)
            },
            text: { DurationText(milliseconds: Int($0) * unit).defaultValueDescription })
    }
}

extension SettingForm where Value == UInt32 {
    static let mode = SettingForm(
        valueName: "octal", expected: "permission bits such as 0660",
        parse: { text in
            let isOctal = text.utf8.allSatisfy { (0x30...0x37).contains($0) }
            return UInt32(text, radix: 8).flatMap { isOctal && $0 <= 0o777 ? $0 : nil }
        }, text: { "0" + String($0, radix: 8) })

    static let group = SettingForm(
        valueName: "group", expected: "a group of this system, by name or number",
        // The entry belongs to the C library until the next call, and only the main thread calls it.
        parse: { UInt32($0) ?? getgrnam($0)?.pointee.gr_gid }, text: { "\($0)" })

    static let user = SettingForm(
        valueName: "uid", expected: "a user id", parse: { UInt32($0) }, text: { "\($0)" })
}

extension SettingForm where Value == Bool {
    static let flag = SettingForm(
        valueName: "true|false", expected: "true or false",
        parse: { text in
            switch text.lowercased() {
            case "true", "yes", "on", "1": true
            case "false", "no", "off", "0": false
            default: nil
            }
        }, text: { "\($0)" }, kind: .flag)
}

extension SettingForm where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    static func word(_ name: String) -> SettingForm {
        let words = Value.allCases.map(\.rawValue)
        return SettingForm(
            valueName: name, expected: "one of \(words.joined(separator: ", "))",
            parse: { Value(rawValue: $0) }, text: { $0.rawValue }, completion: .list(words))
    }
}
