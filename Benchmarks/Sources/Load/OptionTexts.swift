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

    init(_ dialects: [any LoadDialect]) { self.dialects = dialects }
}

/// Payload sizes on the command line: `1024`, `1KiB,1MiB`, `mix`.
struct SizesText: ExpressibleByArgument {
    let sizes: [PayloadSizes]

    static let countMax = 64

    init(_ sizes: [PayloadSizes]) { self.sizes = sizes }

    init?(argument: String) {
        let sizes = list(argument) { word -> PayloadSizes? in
            if word == "mix" { return .mix }
            let size = ByteCountText.byteCount(word)
            return size.flatMap { LoadLimits.payloadByteCount.contains($0) ? .fixed($0) : nil }
        }
        guard let sizes, sizes.count <= Self.countMax else { return nil }
        self.sizes = sizes
    }
}

extension LoadCheck: ExpressibleByArgument {}

/// A number of bytes on the command line: `1048576`, `512KiB`, `64MiB`, and in powers of ten `10MB`.
enum ByteCountText {
    private static let units: [(name: String, byteCount: Int)] = [
        ("MiB", 1 << 20), ("KiB", 1 << 10), ("MB", 1_000_000), ("KB", 1_000),
    ]

    static func byteCount(_ text: String) -> Int? {
        let unit = units.first { text.hasSuffix($0.name) }
        let digits = text.dropLast(unit?.name.count ?? 0)
        guard digits.allSatisfy(\.isNumber), let number = Int(digits) else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: unit?.byteCount ?? 1)
        return overflow ? nil : product
    }

    /// In the largest unit that gives a whole number.
    static func text(_ byteCount: Int) -> String {
        let unit = units.filter { byteCount > 0 && byteCount.isMultiple(of: $0.byteCount) }
            .max { $0.byteCount < $1.byteCount }
        return unit.map { "\(byteCount / $0.byteCount)\($0.name)" } ?? "\(byteCount)"
    }
}
