import BlobStore

/// A number that the daemon shows. Its row in ``stored`` or ``served`` is the only place that names it: `GET /v1/stats`,
/// `GET /metrics`, `blobd stats` and `blobd top` read the tables.
package struct Figure: Sendable {
    package enum Unit: Sendable { case number, bytes }

    /// A place on the screen of `blobd top`, which has three cells to a line.
    package struct Cell: Sendable {
        package enum Part: Sendable { case traffic, store }

        package let part: Part
        /// Counted from the first cell of its part. The screen computes the cells of traffic that no row has.
        package let place: Int
        package let title: String
        /// Whether it shows how much the number grows in a second.
        package let isRate: Bool
    }

    /// A sample of `GET /metrics`. Rows of one family differ in its label.
    struct Sample: Sendable {
        let family: String
        let kind: MetricsText.Kind
        let help: String
        let label: (name: String, value: String)?
    }

    /// The member of `GET /v1/stats`; nil: it has none.
    package let name: String?
    package let unit: Unit
    /// The line of `blobd stats`; nil: it has none.
    package let title: String?
    package let cell: Cell?
    let sample: Sample?
    let read: @Sendable (DaemonFigures) -> Int

    init(
        _ name: String?, _ unit: Unit = .number, title: String? = nil, top cell: Cell? = nil,
        metric sample: Sample? = nil, read: @escaping @Sendable (DaemonFigures) -> Int
    ) {
        self.name = name
        self.unit = unit
        self.title = title
        self.cell = cell
        self.sample = sample
        self.read = read
    }

    package static let all = stored + served
}

extension Figure.Cell {
    static func rate(_ title: String, _ place: Int) -> Self {
        Self(part: .traffic, place: place, title: title, isRate: true)
    }

    static func traffic(_ title: String, _ place: Int) -> Self {
        Self(part: .traffic, place: place, title: title, isRate: false)
    }

    static func store(_ title: String, _ place: Int) -> Self {
        Self(part: .store, place: place, title: title, isRate: false)
    }
}

extension Figure.Sample {
    static func counter(
        _ family: String, _ help: String, _ label: (name: String, value: String)? = nil
    ) -> Self {
        Self(family: family, kind: .counter, help: help, label: label)
    }

    static func gauge(
        _ family: String, _ help: String, _ label: (name: String, value: String)? = nil
    ) -> Self {
        Self(family: family, kind: .gauge, help: help, label: label)
    }
}

/// The daemon at one moment: what the rows read.
struct DaemonFigures {
    let store: BlobStore
    let held: Statistics
    let counters: DaemonCounters
    let limits: DaemonLimits
    let commitCount: Int
    let bodyMemoryByteCount: Int
    let bodySpoolCount: Int
    let droppedLineCount: Int
    let requests: RequestFigures
}
