import LoadGenerator

struct BenchReport {
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
        let payload = Int(figures.payload).map { HumanText.count($0) } ?? figures.payload
        let server =
            figures.server.map { Self.number($0.cpuMicrosecondsPerRequest) + " µs" } ?? "?"
        let load = "\(Int((figures.generator.cpuShare * 100).rounded())) %"
        func row(_ kind: String, _ rate: Double, _ megabytes: Double, _ latency: LatencyFigures) {
            let isFirst = kind == "fetch" || kind == "publish" || kind == "all"
            throughput.append([
                figures.dialect, payload, kind, HumanText.count(Int(rate.rounded())),
                Self.number(megabytes), isFirst ? server : "", isFirst ? load : "",
            ])
            // One column for what the other table has in three: both fit 80 columns.
            let size = Int(figures.payload).map { ByteCountText($0).defaultValueDescription }
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
            let achieved = HumanText.count(Int(rate.achievedPerSecond.rounded()))
            let asked = HumanText.count(Int(rate.askedPerSecond.rounded()))
            remarks.append(
                "\(run): the rate was not reached: \(achieved) of \(asked) requests per second, "
                    + "\(HumanText.count(rate.unanswered)) unanswered at the end. Latencies grow with --seconds."
            )
        } else if figures.generator.cpuShare > Self.busyShare {
            remarks.append(
                "\(run): the load used \(Int((figures.generator.cpuShare * 100).rounded())) % of its core: "
                    + "it may be the limit.")
        }
    }

    mutating func text() -> String {
        var text = throughput.takeText(withTitles: true) + "\n"
        text += latencies.takeText(withTitles: true)
        if !remarks.isEmpty {
            text += "\n" + remarks.map { HumanText.wrapped($0) + "\n" }.joined()
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
        if value >= 99.95 { return HumanText.count(Int(value.rounded())) }
        let digits = value >= 9.995 ? 1 : 2
        let scale = digits == 1 ? 10 : 100
        let scaled = Int((value * Double(scale)).rounded())
        let fraction = String(scaled % scale)
        let zeros = String(repeating: "0", count: digits - fraction.count)
        return "\(scaled / scale).\(zeros)\(fraction)"
    }
}

struct BenchProgress {
    private var line = StatusLine()
    private let title: String

    init(_ title: String) { self.title = title }

    var isShown: Bool { line.isShown }

    mutating func update(storing progress: LoadRun.Progress, of total: Int) {
        line.draw { [title] _ in
            "\(title): storing \(HumanText.count(progress.requests)) of \(HumanText.count(total))"
        }
    }

    mutating func update(_ progress: LoadRun.Progress) {
        line.draw { [title] _ in
            let tenths = Int(progress.seconds * 10)
            let now = "\(title): \(tenths / 10).\(tenths % 10) s"
            guard progress.isCounting else { return "\(now)  warming up" }
            return "\(now)  \(HumanText.count(Int(progress.requestsPerSecond))) requests/s  "
                + "p99 so far \(BenchReport.number(progress.p99Microseconds)) µs"
        }
    }

    mutating func finish() { line.finish() }
}
