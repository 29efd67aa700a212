import BlobClient

/// The screen of `blobd top`: lines of plain text, as many and as wide as a terminal has.
struct TopScreen {
    let width: Int
    let height: Int

    /// The least size that shows everything but the slowest requests.
    static let widthMin = 40
    static let heightMin = 8

    /// - Parameters:
    ///   - activity: of the last interval.
    ///   - history: requests in a second, of the last intervals, the latest at the end.
    ///   - title: where the daemon is.
    func lines(_ activity: Activity, history: [Double], title: String) -> [String] {
        var lines = heading(activity, title)
        lines += [""] + traffic(activity, history)
        lines += [""] + operations(activity)
        lines += [""] + store(activity.now)
        let slowest = slowest(activity.now)
        if !slowest.isEmpty, lines.count + 2 < height { lines += [""] + slowest }
        return lines.prefix(height).map(cut)
    }

    /// As wide as the screen, without blanks at its end.
    private func cut(_ line: String) -> String {
        var line = line.prefix(width)
        while line.last == " " { line.removeLast() }
        return String(line)
    }

    private func heading(_ activity: Activity, _ title: String) -> [String] {
        let now = activity.now
        let seconds = now.uptimeSeconds ?? 0
        let uptime = HumanText.duration(
            milliseconds: seconds.isFinite && seconds < 1e12 ? Int64(seconds * 1_000) : 0)
        return [
            split(
                "blobd \(HumanText.line(now.version ?? "?"))  \(title)",
                "up \(uptime), \(HumanText.count(now.workers ?? 0)) workers")
        ]
    }

    private func traffic(_ activity: Activity, _ history: [Double]) -> [String] {
        let now = activity.now
        let hits = activity.hitShare.map { "\(Self.number($0 * 100)) %" } ?? "-"
        var lines = [
            columns([
                ("requests", "\(Self.number(activity.requestRate))/s"),
                ("publishes", "\(Self.number(activity.publishRate))/s"),
                ("hit rate", hits),
            ]),
            columns([
                ("sent", "\(HumanText.bytes(Int64(activity.sentRate)))/s"),
                ("received", "\(HumanText.bytes(Int64(activity.receivedRate)))/s"),
                ("errors", "\(Self.number(activity.errorRate))/s"),
            ]),
            columns([
                ("connections", HumanText.count(now.connections ?? 0)),
                ("waiting", HumanText.count(now.watchers ?? 0)),
                ("expiries", "\(Self.number(activity.expiryRate))/s"),
            ]),
        ]
        let title = "requests/s  "
        lines.append(title + Self.bars(history, width: max(0, width - title.count)))
        return lines
    }

    private func operations(_ activity: Activity) -> [String] {
        var table = TextTable([
            ("operation", .left), ("per second", .right), ("p50", .right), ("p99", .right),
        ])
        let rows = activity.rates.filter { $0.value > 0 }
            .sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        for (name, rate) in rows.prefix(max(3, height - 19)) {
            let durations = activity.durations[name]
            table.append([
                name, Self.number(rate), Self.time(durations?.quantile(0.5)),
                Self.time(durations?.quantile(0.99)),
            ])
        }
        if table.isEmpty { return ["no requests"] }
        return table.takeText(withTitles: true).split(separator: "\n").map(String.init)
    }

    private func store(_ now: DaemonStatistics) -> [String] {
        let file = now.fileBytes ?? 0
        let allocated = now.allocatedBytes ?? file
        let live = now.bytesStored ?? 0
        return [
            columns([
                ("notifications", HumanText.count(now.notifications ?? 0)),
                ("blobs", HumanText.count(now.blobs ?? 0)),
                ("orphaned", HumanText.bytes(now.orphanBytes ?? 0)),
            ]),
            columns([
                ("file", HumanText.bytes(file)), ("on disk", HumanText.bytes(allocated)),
                ("live", HumanText.bytes(live)),
            ]),
            share("live, of the disk", live, allocated),
        ]
    }

    /// A bar of a share, as wide as the screen.
    private func share(_ title: String, _ part: Int64, _ whole: Int64) -> String {
        let share = whole > 0 ? min(1, Double(part) / Double(whole)) : 0
        let percent = " \(Int((share * 100).rounded())) %"
        let cells = max(0, min(60, width - title.count - percent.count - 2))
        let full = Int((share * Double(cells)).rounded())
        return title + "  " + String(repeating: "█", count: full)
            + String(repeating: "░", count: cells - full) + percent
    }

    private func slowest(_ now: DaemonStatistics) -> [String] {
        guard let slowest = now.slowest, !slowest.isEmpty else { return [] }
        return ["slowest of the last minute"]
            + slowest.map { request in
                let time = Self.time(Double(request.nanoseconds))
                let gap = String(repeating: " ", count: max(0, 9 - time.count))
                let target = HumanText.line(request.target, characterCountMax: max(20, width - 30))
                return
                    "\(gap)\(time)  \(HumanText.line(request.operation)) \(request.status)  \(target)"
            }
    }

    // MARK: - Texts

    /// Two texts at the two ends of a line.
    private func split(_ left: String, _ right: String) -> String {
        let gap = max(2, width - left.count - right.count)
        return left + String(repeating: " ", count: gap) + right
    }

    /// Names and values in columns of a third of the screen.
    private func columns(_ cells: [(name: String, value: String)]) -> String {
        let cell = min(40, width / cells.count)
        return cells.map { name, value in
            let text = "\(name) \(value)"
            let gap = max(1, cell - 2 - name.count - value.count)
            let full = name + String(repeating: " ", count: gap) + value
            return full.count < cell
                ? full + String(repeating: " ", count: cell - full.count) : text + " "
        }.joined()
    }

    /// `0`, `0.4`, `12.5`, `1,234`.
    static func number(_ value: Double) -> String {
        guard value.isFinite, value < 1e15 else { return "?" }
        if value >= 100 || value == 0 { return HumanText.count(Int64(value.rounded())) }
        let tenths = Int((value * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }

    /// `85 µs`, `1.2 ms`, `2.5 s`; `-` for nil.
    static func time(_ nanoseconds: Double?) -> String {
        guard let nanoseconds else { return "-" }
        if nanoseconds < 1e6 { return "\(Int((nanoseconds / 1e3).rounded())) µs" }
        if nanoseconds < 1e9 { return "\(number(nanoseconds / 1e6)) ms" }
        return "\(number(nanoseconds / 1e9)) s"
    }

    /// A bar for each value, the highest as high as a line.
    static func bars(_ values: [Double], width: Int) -> String {
        let shown = values.suffix(width)
        let most = shown.max() ?? 0
        return String(
            shown.map { value in
                guard most > 0, value > 0 else { return "▁" as Character }
                let cells: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
                return cells[min(7, Int(value / most * 7.999))]
            })
    }
}
