import BlobStore
import Bytes

/// Metrics in the text format of Prometheus (version 0.0.4). Each family is written once, with its help.
struct MetricsText {
    private(set) var bytes: [UInt8] = []

    static let mediaType: StaticString = "text/plain; version=0.0.4; charset=utf-8"

    enum Kind: String {
        case counter
        case gauge
        case histogram
    }

    /// Names and values of labels, which need no escaping.
    typealias Labels = [(name: String, value: String)]

    /// Begins a family, whose samples follow.
    private mutating func begin(_ kind: Kind, _ name: String, _ help: String) {
        append("# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n")
    }

    /// Adds a family with these samples.
    mutating func add<Value>(
        _ kind: Kind, _ name: String, _ help: String, _ samples: [(Labels, Value)]
    ) {
        begin(kind, name, help)
        for (labels, value) in samples { append("\(name)\(Self.text(of: labels)) \(value)\n") }
    }

    /// Adds a family with one sample: a number, or seconds with a fraction.
    mutating func add(_ kind: Kind, _ name: String, _ help: String, _ value: some Numeric) {
        add(kind, name, help, [([], value)])
    }

    mutating func add(_ figures: [Figure], of now: DaemonFigures) {
        var families: [Figure.Sample] = []
        var rows: [String: [(Labels, Int)]] = [:]
        for figure in figures {
            guard let sample = figure.sample else { continue }
            if rows[sample.family] == nil { families.append(sample) }
            let labels = sample.label.map { [$0] } ?? []
            rows[sample.family, default: []].append((labels, figure.read(now)))
        }
        for first in families {
            add(first.kind, first.family, first.help, rows[first.family, default: []])
        }
    }

    /// Adds histograms: cumulative buckets, in seconds, the sum and the count.
    mutating func add(
        _ name: String, _ help: String, _ histograms: [(Labels, DurationFigures)]
    ) {
        begin(.histogram, name, help)
        for (labels, figures) in histograms {
            var count = 0
            let prefix = labels.map { "\($0)=\"\($1)\"," }.joined()
            for (bound, inBucket) in zip(DurationHistogram.bounds, figures.counts) {
                count += inBucket
                append("\(name)_bucket{\(prefix)le=\"\(Double(bound) / 1e9)\"} \(count)\n")
            }
            count += figures.counts[figures.counts.count - 1]
            append("\(name)_bucket{\(prefix)le=\"+Inf\"} \(count)\n")
            let text = Self.text(of: labels)
            append("\(name)_sum\(text) \(Double(figures.nanoseconds) / 1e9)\n")
            append("\(name)_count\(text) \(count)\n")
        }
    }

    private static func text(of labels: Labels) -> String {
        guard !labels.isEmpty else { return "" }
        return "{" + labels.map { "\($0)=\"\($1)\"" }.joined(separator: ",") + "}"
    }

    private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }
}
