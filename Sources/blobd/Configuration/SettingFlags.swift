import ArgumentParser

/// The settings as flags of a command: one for each row of ``Setting/sections``.
///
/// ArgumentParser finds the flags of a type by reflection, so this type reflects the table. Help, errors, the
/// completions of three shells and the man pages then include the settings; a parser of our own would need to implement
/// each.
struct SettingFlags: ParsableArguments, CustomReflectable {
    /// The given values, by the names of settings.
    private(set) var texts: [String: [String]] = [:]

    init() {}

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        for setting in Setting.all {
            let key = Key(stringValue: setting.name)
            switch setting.kind {
            case .one:
                let text = try container.decode(Option<String?>.self, forKey: key).wrappedValue
                texts[setting.name] = text.map { [$0] }
            case .list:
                let all = try container.decode(Option<[String]>.self, forKey: key).wrappedValue
                texts[setting.name] = all.isEmpty ? nil : all
            case .flag:
                let isOn = try container.decode(Flag<Bool?>.self, forKey: key).wrappedValue
                texts[setting.name] = isOn.map { ["\($0)"] }
            }
        }
    }

    var customMirror: Mirror {
        let wrappers: [Mirror.Child] = Setting.all.map { setting in
            let name = NameSpecification.customLong(setting.name)
            let help = ArgumentHelp(
                setting.helpWithDefault, valueName: setting.valueName,
                visibility: setting.isHidden ? .hidden : .default)
            let wrapper: Any =
                switch setting.kind {
                case .one:
                    Option<String?>(name: name, help: help, completion: setting.completion)
                case .list:
                    Option<[String]>(
                        wrappedValue: [], name: name, help: help, completion: setting.completion)
                case .flag: Flag<Bool?>(name: name, inversion: .prefixedNo, help: help)
                }
            // The name of a property wrapper's storage.
            return (label: "_" + setting.name, value: wrapper)
        }
        return Mirror(self, children: wrappers)
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

extension Setting {
    /// The help with the default, formatted like ArgumentParser's.
    fileprivate var helpWithDefault: String {
        switch (kind, defaultText) {
        case (_, nil): help
        case (.flag, "true"?): "\(help) (default: --\(name))"
        case (.flag, _): help
        case (_, let text?): "\(help) (default: \(text))"
        }
    }
}
