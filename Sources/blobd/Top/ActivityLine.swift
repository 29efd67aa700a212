import BlobClient

/// A line of `blobd stats --watch`.
enum ActivityLine {
    private static let columns:
        [(title: String, width: Int, text: @Sendable (Activity) -> String)] = [
            ("fetch/s", 9, { TopScreen.number($0.rates["fetch"] ?? 0) }),
            ("hits", 7, { $0.hitShare.map { "\(TopScreen.number($0 * 100)) %" } ?? "-" }),
            ("p50", 8, { TopScreen.time($0.durations["fetch"]?.quantile(0.5)) }),
            ("p99", 8, { TopScreen.time($0.durations["fetch"]?.quantile(0.99)) }),
            ("publish/s", 10, { TopScreen.number($0.publishRate) }),
            ("p99", 8, { TopScreen.time($0.durations["publish"]?.quantile(0.99)) }),
            ("expire/s", 9, { TopScreen.number($0.expiryRate) }),
            ("error/s", 8, { TopScreen.number($0.errorRate) }),
            ("conns", 7, { HumanText.count($0.now.connections ?? 0) }),
            ("waiting", 8, { HumanText.count($0.now.watchers ?? 0) }),
            ("on disk", 10, { HumanText.bytes($0.now.allocatedBytes ?? 0) }),
            ("live", 10, { HumanText.bytes($0.now.bytesStored ?? 0) }),
        ]

    static var titles: String { line { $0.title } }

    static func text(_ activity: Activity) -> String { line { $0.text(activity) } }

    private static func line(
        _ text: ((title: String, width: Int, text: @Sendable (Activity) -> String)) -> String
    ) -> String {
        columns.map { column in
            let text = text(column)
            return String(repeating: " ", count: max(1, column.width - text.count)) + text
        }.joined() + "\n"
    }
}
