import BlobClient
import BlobServer

struct TopScreen {
    let width: Int
    let height: Int

    /// The smallest size that shows everything except the slowest requests.
    static let widthMin = 40
    static let heightMin = 8

    func lines(_ activity: Activity, history: [Double], title: String) -> [String] {
        var lines = heading(activity, title)
        lines += [""] + traffic(activity, history)
        lines += [""] + operations(activity)
        lines += [""] + store(activity)
        let slowest = slowest(activity.now)
        if !slowest.isEmpty, lines.count + 2 < height { lines += [""] + slowest }
        return lines.prefix(height).map(cut)
    }

    private func cut(_ line: String) -> String { HumanText.cut(line, to: width) }

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
        let hits = activity.hitShare.map { "\(Self.number($0 * 100)) %" } ?? "-"
        var lines = table(
            .traffic, activity,
            [
                0: ("requests", "\(Self.number(activity.requestRate))/s"),
                2: ("hit rate", hits),
                5: ("errors", "\(Self.number(activity.errorRate))/s"),
            ])
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

    private func store(_ activity: Activity) -> [String] {
        let (live, disk) = (activity.now.bytesStored ?? 0, activity.now.allocatedBytes ?? 0)
        return table(.store, activity) + [share("live, of the disk", live, disk)]
    }

    /// The cells of a part: those of the table of figures, and others by position.
    private func table(
        _ part: Figure.Cell.Part, _ activity: Activity,
        _ others: [Int: (name: String, value: String)] = [:]
    ) -> [String] {
        var cells = others
        for figure in Figure.all {
            if let cell = figure.cell, cell.part == part, let name = figure.name {
                cells[cell.place] = (cell.title, Self.value(figure.unit, cell, name, activity))
            }
        }
        let inOrder = cells.sorted { $0.key < $1.key }.map(\.value)
        return stride(from: 0, to: inOrder.count, by: Self.cellsPerLine).map {
            columns(Array(inOrder[$0..<min($0 + Self.cellsPerLine, inOrder.count)]))
        }
    }

    private static let cellsPerLine = 3

    private static func value(
        _ unit: Figure.Unit, _ cell: Figure.Cell, _ name: String, _ activity: Activity
    ) -> String {
        let (value, rate) = (activity.now[name] ?? 0, activity.rate(of: name))
        return switch (unit, cell.isRate) {
        case (.number, false): HumanText.count(value)
        case (.number, true): "\(number(rate))/s"
        case (.bytes, false): HumanText.bytes(value)
        case (.bytes, true): "\(HumanText.bytes(Int64(rate)))/s"
        }
    }

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

    private func split(_ left: String, _ right: String) -> String {
        let gap = max(2, width - left.count - right.count)
        return left + String(repeating: " ", count: gap) + right
    }

    private func columns(_ cells: [(name: String, value: String)]) -> String {
        let cell = min(40, width / Self.cellsPerLine)
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

    /// A bar for each value; the highest fills the line.
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
