public import ArgumentParser
import LoadGenerator

/// Comma-separated values; nil if one is invalid.
private func list<Value>(_ text: String, _ value: (String) -> Value?) -> [Value]? {
    let words = text.split(separator: ",", omittingEmptySubsequences: false)
    let values = words.compactMap { value(String($0)) }
    return values.count == words.count ? values : nil
}

/// Dialects on the command line: `binary`, `http`, `binary,http`.
struct DialectsText: ExpressibleByArgument {
    let dialects: [any LoadDialect]

    init?(argument: String) {
        let dialects = list(argument) { word -> (any LoadDialect)? in
            word == "binary" ? BinaryDialect() : word == "http" ? HTTPDialect() : nil
        }
        guard let dialects, Set(dialects.map(\.name)).count == dialects.count else { return nil }
        self.dialects = dialects
    }

    init() { dialects = [BinaryDialect()] }

    var defaultValueDescription: String { dialects.map(\.name).joined(separator: ",") }
}

/// Payload sizes on the command line: `1024`, `1KiB,1MiB`, `mix`.
struct SizesText: ExpressibleByArgument {
    let sizes: [PayloadSizes]

    static let countMax = 64

    init(_ sizes: [PayloadSizes]) { self.sizes = sizes }

    init?(argument: String) {
        let sizes = list(argument) { word -> PayloadSizes? in
            if word == "mix" { return .mix }
            let size = ByteCountText(argument: word)?.byteCount
            return size.flatMap { LoadLimits.payloadByteCount.contains($0) ? .fixed($0) : nil }
        }
        guard let sizes, sizes.count <= Self.countMax else { return nil }
        self.sizes = sizes
    }

    var defaultValueDescription: String {
        sizes.map {
            switch $0 {
            case .mix: "mix"
            case .fixed(let byteCount): ByteCountText(byteCount).defaultValueDescription
            }
        }.joined(separator: ",")
    }
}

extension LoadCheck: ExpressibleByArgument {}
