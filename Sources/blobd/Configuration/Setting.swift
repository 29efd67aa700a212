import ArgumentParser
import BlobServer

/// One setting of the daemon: a flag of `blobd serve`, a key of its file, a variable of its environment. ``sections``
/// contains all of them.
struct Setting: Sendable {
    enum Change: Sendable {
        case live
        case atStart
    }

    enum Kind: Sendable { case one, list, flag }

    struct Mismatch: Error {
        let text: String
    }

    /// The flag without its dashes; also the key in the file.
    let name: String
    let kind: Kind
    let change: Change
    let help: String
    let defaultText: String?
    /// Omitted from `--help` and the documentation.
    let isHidden: Bool

    let valueName: String
    let expected: String
    let bounds: String?
    let completion: CompletionKind?

    /// Sets the values, given as texts, in options. Only a list has more than one.
    let set: @Sendable ([String], inout DaemonOptions) throws(Mismatch) -> Void
    /// The values in options, as texts; empty: not set.
    let texts: @Sendable (DaemonOptions) -> [String]
    let copy: @Sendable (DaemonOptions, inout DaemonOptions) -> Void

    var variable: String {
        "BLOBD_" + name.uppercased().split(separator: "-").joined(separator: "_")
    }

    static let all = sections.flatMap(\.settings)
    static let named = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    static let unset = DaemonOptions(dataPath: "", socketPath: "")
}

extension Setting {
    /// A setting with one value. Its default is that of the options, unless another text is given.
    static func one<Value>(
        _ name: String, _ form: SettingForm<Value>,
        _ path: any WritableKeyPath<DaemonOptions, Value> & Sendable, _ change: Change,
        default words: String? = nil, _ help: String
    ) -> Setting {
        Setting(
            name, form.kind, form, change, help, default: words ?? form.text(unset[keyPath: path]),
            get: { [$0[keyPath: path]] }, set: { $0[keyPath: path] = $1[0] })
    }

    static func optional<Value>(
        _ name: String, _ form: SettingForm<Value>,
        _ path: any WritableKeyPath<DaemonOptions, Value?> & Sendable, _ change: Change,
        default words: String? = nil, isHidden: Bool = false, _ help: String
    ) -> Setting {
        Setting(
            name, .one, form, change, help, default: words, isHidden: isHidden,
            get: { $0[keyPath: path].map { [$0] } ?? [] }, set: { $0[keyPath: path] = $1.first })
    }

    static func list<Value>(
        _ name: String, _ form: SettingForm<Value>,
        _ path: any WritableKeyPath<DaemonOptions, [Value]> & Sendable, _ change: Change,
        _ help: String
    ) -> Setting {
        Setting(
            name, .list, form, change, help, default: nil, get: { $0[keyPath: path] },
            set: { $0[keyPath: path] = $1 })
    }

    private init<Value>(
        _ name: String, _ kind: Kind, _ form: SettingForm<Value>, _ change: Change, _ help: String,
        default words: String?, isHidden: Bool = false,
        get: @escaping @Sendable (DaemonOptions) -> [Value],
        set: @escaping @Sendable (inout DaemonOptions, [Value]) -> Void
    ) {
        self.name = name
        self.kind = kind
        self.change = change
        self.help = help
        self.isHidden = isHidden
        defaultText = words == "" ? nil : words
        valueName = form.valueName
        expected = form.expected
        bounds = form.bounds
        completion = form.completion
        self.set = { (texts, options) throws(Mismatch) in
            var values: [Value] = []
            for text in texts {
                guard let value = form.parse(text) else { throw Mismatch(text: text) }
                values.append(value)
            }
            set(&options, values)
        }
        self.texts = { get($0).map(form.text).filter { !$0.isEmpty } }
        copy = { set(&$1, get($0)) }
    }
}
