import ArgumentParser
import LoadGenerator

enum BenchDialect: String, CaseIterable, Sendable {
    case binary
    case http

    var dialect: any LoadDialect {
        switch self {
        case .binary: BinaryDialect()
        case .http: HTTPDialect()
        }
    }
}

/// Dialects on the command line: `binary`, `http`, `binary,http`.
struct DialectsText: ExpressibleByArgument {
    let dialects: [BenchDialect]

    init(_ dialects: [BenchDialect]) { self.dialects = dialects }

    init?(argument: String) {
        dialects = argument.split(separator: ",", omittingEmptySubsequences: false).compactMap {
            BenchDialect(rawValue: String($0))
        }
        guard dialects.count == argument.utf8.count(where: { $0 == UInt8(ascii: ",") }) + 1,
            Set(dialects).count == dialects.count
        else { return nil }
    }

    var defaultValueDescription: String {
        dialects.map(\.rawValue).joined(separator: ",")
    }
}

/// Payload sizes on the command line: `1024`, `1KiB,1MiB`, `mix`.
struct SizesText: ExpressibleByArgument {
    let sizes: [PayloadSizes]

    static let countMax = 64

    init(_ sizes: [PayloadSizes]) { self.sizes = sizes }

    init?(argument: String) {
        var sizes: [PayloadSizes] = []
        for word in argument.split(separator: ",", omittingEmptySubsequences: false) {
            if word == "mix" {
                sizes.append(.mix)
            } else {
                guard let text = ByteCountText(argument: String(word)),
                    LoadLimits.payloadByteCount.contains(text.byteCount)
                else { return nil }
                sizes.append(.fixed(text.byteCount))
            }
        }
        guard sizes.count <= Self.countMax else { return nil }
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

struct CheckText: ExpressibleByArgument {
    let check: LoadCheck

    init(_ check: LoadCheck) { self.check = check }

    init?(argument: String) {
        guard let check = LoadCheck(rawValue: argument) else { return nil }
        self.check = check
    }

    var defaultValueDescription: String { check.rawValue }
}
