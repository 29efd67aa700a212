import LoadGenerator

struct LoadReport {
    private var throughput = TextTable([
        ("dialect", .left), ("payload", .right), ("", .left), ("requests/s", .right),
        ("MB/s", .right), ("server", .right), ("load", .right),
    ])
    private var latencies = TextTable([
        ("latency, µs", .left), ("min", .right), ("p50", .right), ("p90", .right), ("p99", .right),
        ("p99.9", .right), ("p99.99", .right),
        ("max", .right), ("mean", .right),
    ])
    private var remarks: [String] = []

    /// In a closed loop, a generator that used more of its core than this may have been the limit.
    private static let busyShare = 0.9

    mutating func append(_ figures: LoadFigures) {
        let payload = Int(figures.payload).map { NumberText.count($0) } ?? figures.payload
        let server =
            figures.server.map { Self.number($0.cpuMicrosecondsPerRequest) + " µs" } ?? "?"
        let load = "\(Int((figures.generator.cpuShare * 100).rounded())) %"
        func row(_ kind: String, _ rate: Double, _ megabytes: Double, _ latency: LatencyFigures) {
            let isFirst = kind == "fetch" || kind == "publish" || kind == "all"
            throughput.append([
                figures.dialect, payload, kind, NumberText.count(Int(rate.rounded())),
                Self.number(megabytes), isFirst ? server : "", isFirst ? load : "",
            ])
            // One column for what the other table has in three: both fit 80 columns.
            let size = Int(figures.payload).map { ByteCountText.text($0) }
            latencies.append(
                ["\(figures.dialect) \(size ?? figures.payload) \(kind.drop { "· ".contains($0) })"]
                    + [
                        latency.minMicroseconds, latency.p50Microseconds, latency.p90Microseconds,
                        latency.p99Microseconds, latency.p999Microseconds,
                        latency.p9999Microseconds, latency.maxMicroseconds,
                        latency.meanMicroseconds,
                    ].map(Self.time))
        }
        let kinds = [("fetch", figures.fetches), ("publish", figures.publishes)]
        let isMixed = figures.fetches != nil && figures.publishes != nil
        if isMixed {
            row("all", figures.requestsPerSecond, figures.megabytesPerSecond, figures.latency)
        }
        for case (let kind, let figures?) in kinds {
            row(
                isMixed ? "· \(kind)" : kind, figures.requestsPerSecond,
                figures.megabytesPerSecond, figures.latency)
        }
        remark(on: figures, payload)
    }

    private mutating func remark(on figures: LoadFigures, _ payload: String) {
        let run = "\(figures.dialect), \(payload)"
        if let rate = figures.rate {
            guard !rate.isReached else { return }
            let achieved = NumberText.count(Int(rate.achievedPerSecond.rounded()))
            let asked = NumberText.count(Int(rate.askedPerSecond.rounded()))
            remarks.append(
                "\(run): the rate was not reached: \(achieved) of \(asked) requests per second,\n  "
                    + "\(NumberText.count(rate.unanswered)) unanswered at the end. Latencies grow with --seconds."
            )
        } else if figures.generator.cpuShare > Self.busyShare {
            remarks.append(
                "\(run): the load used \(Int((figures.generator.cpuShare * 100).rounded())) % of its core: "
                    + "it may be the limit.")
        }
    }

    func text() -> String {
        var text = throughput.text + "\n"
        text += latencies.text
        if !remarks.isEmpty {
            text += "\n" + remarks.map { "\($0)\n" }.joined()
        }
        return text
    }

    /// Microseconds in at most five characters: `4.21`, `38.5`, `1204`, `12040`, then `120ms`, `1.20s`.
    static func time(_ microseconds: Double) -> String {
        guard microseconds.isFinite, microseconds < 1e13 else { return "?" }
        if microseconds < 99_999.5 { return number(microseconds).filter { $0 != "," } }
        if microseconds < 999_500 { return "\(Int((microseconds / 1e3).rounded()))ms" }
        return "\(number(microseconds / 1e6))s"
    }

    /// With three significant digits below 100, as a whole number above: `4.21`, `38.5`, `1,204`.
    static func number(_ value: Double) -> String {
        guard value.isFinite, value.magnitude < 1e15 else { return "?" }
        if value >= 99.95 { return NumberText.count(Int(value.rounded())) }
        let digits = value >= 9.995 ? 1 : 2
        let scale = digits == 1 ? 10 : 100
        let scaled = Int((value * Double(scale)).rounded())
        let fraction = String(scaled % scale)
        let zeros = String(repeating: "0", count: digits - fraction.count)
        return "\(scaled / scale).\(zeros)\(fraction)"
    }
}

struct LoadProgress {
    private var line = StatusLine()
    private let title: String

    init(_ title: String) { self.title = title }

    var isShown: Bool { line.isShown }

    mutating func update(storing progress: LoadRun.Progress, of total: Int) {
        line.draw(
            "\(title): storing \(NumberText.count(progress.requests)) of \(NumberText.count(total))"
        )
    }

    mutating func update(_ progress: LoadRun.Progress) {
        let tenths = Int(progress.seconds * 10)
        let figures =
            progress.isCounting
            ? "\(NumberText.count(Int(progress.requestsPerSecond))) requests/s  p99 so far "
                + "\(LoadReport.number(progress.p99Microseconds)) µs"
            : "warming up"
        line.draw("\(title): \(tenths / 10).\(tenths % 10) s  \(figures)")
    }

    mutating func finish() { line.finish() }
}

/// A table in plain text. Columns are as wide as their content, two spaces apart.
struct TextTable {
    enum Alignment {
        case left, right
    }

    private let alignments: [Alignment]
    private var rows: [[String]]

    init(_ columns: [(title: String, alignment: Alignment)]) {
        alignments = columns.map(\.alignment)
        rows = [columns.map(\.title)]
    }

    mutating func append(_ row: [String]) { rows.append(row) }

    var text: String {
        let widths = alignments.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                let gap = String(repeating: " ", count: widths[column] - cell.count)
                line += (alignments[column] == .left ? cell + gap : gap + cell) + "  "
            }
            while line.last == " " { line.removeLast() }
            return line + "\n"
        }.joined()
    }
}
