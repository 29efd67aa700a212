import BlobStore
import Bytes

/// Metrics in Prometheus' text format (version 0.0.4). Each family is written once, with its help.
struct MetricsText {
    private(set) var bytes: [UInt8] = []

    static let mediaType: StaticString = "text/plain; version=0.0.4; charset=utf-8"

    enum Kind: String {
        case counter
        case gauge
        case histogram
    }

    mutating func begin(_ name: String, _ kind: Kind, _ help: String) {
        append("# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n")
    }

    /// A sample. Labels are names and values that need no escaping.
    mutating func sample(
        _ name: String, _ labels: KeyValuePairs<String, String>, _ value: Int
    ) {
        append("\(name)\(Self.text(of: labels)) \(value)\n")
    }

    mutating func sample(
        _ name: String, _ labels: KeyValuePairs<String, String> = [:], seconds: Double
    ) {
        append("\(name)\(Self.text(of: labels)) \(seconds)\n")
    }

    mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: Int) {
        begin(name, kind, help)
        sample(name, [:], value)
    }

    mutating func add(_ figures: [Figure], of now: DaemonFigures) {
        var families: [String] = []
        var rows: [String: [(sample: Figure.Sample, value: Int)]] = [:]
        for figure in figures {
            guard let sample = figure.sample else { continue }
            if rows[sample.family] == nil { families.append(sample.family) }
            rows[sample.family, default: []].append((sample, figure.read(now)))
        }
        for family in families {
            for (index, (sample, value)) in rows[family, default: []].enumerated() {
                if index == 0 { begin(family, sample.kind, sample.help) }
                let labels: KeyValuePairs<String, String> =
                    if let label = sample.label { [label.name: label.value] } else { [:] }
                self.sample(family, labels, value)
            }
        }
    }

    /// A histogram's samples: cumulative buckets, in seconds, the sum and the count.
    mutating func histogram(
        _ name: String, _ labels: KeyValuePairs<String, String>, _ figures: DurationFigures
    ) {
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

    private static func text(of labels: KeyValuePairs<String, String>) -> String {
        guard !labels.isEmpty else { return "" }
        return "{" + labels.map { "\($0)=\"\($1)\"" }.joined(separator: ",") + "}"
    }

    private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }
}
