import BlobStore

/// A number that the daemon shows: a row for `GET /v1/stats`, `GET /metrics`, `blobd stats` and `blobd top`.
package struct Figure: Sendable {
    package enum Unit: Sendable { case number, bytes }

    /// A cell on the screen of `blobd top`, which has three cells per line.
    package struct Cell: Sendable {
        package enum Part: Sendable { case traffic, store }

        package let part: Part
        /// Counted from the first cell of its part. The screen computes the cells of traffic that have no row.
        package let place: Int
        package let title: String
        /// Whether the cell shows the growth of the number per second.
        package let isRate: Bool
    }

    /// A sample of `GET /metrics`. The rows of one family differ in their label.
    struct Sample: Sendable {
        let family: String
        let kind: MetricsText.Kind
        let help: String
        let label: (name: String, value: String)?
    }

    /// The member of `GET /v1/stats`; nil: none.
    package let name: String?
    package let unit: Unit
    /// The line of `blobd stats`; nil: none.
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

struct DaemonFigures {
    let store: BlobStore
    let held: Statistics
    let counters: DaemonCounters
    let limits: DaemonLimits
    let commitCount: Int
    let bodyMemoryByteCount: Int
    let bodySpoolCount: Int
    /// Of the access log.
    let droppedLineCount: Int
    /// Of the log.
    let droppedMessageCount: Int
    let requests: RequestFigures
}

extension Figure {
    /// What the store contains, exactly, in the order of `GET /v1/stats` and `blobd stats`.
    package static let stored: [Figure] = [
        Figure(
            "notifications", title: "notifications", top: .store("notifications", 0),
            metric: .gauge("blobd_notifications", "Notifications in the store.")
        ) { $0.held.notifications },
        Figure(
            "parts", title: "parts", metric: .gauge("blobd_parts", "Parts of all notifications.")
        ) {
            $0.held.parts
        },
        Figure(
            "blobs", title: "blobs", top: .store("blobs", 1),
            metric: .gauge("blobd_blobs", "Distinct blobs.")
        ) { $0.held.blobs },
        Figure("bytes", .bytes, title: "bytes, each blob once") { $0.held.bytes },
        Figure(
            "bytes_stored", .bytes, title: "bytes as stored", top: .store("live", 5),
            metric: storeBytes("live")
        ) { $0.held.bytesStored },
        Figure(
            "bytes_referenced", .bytes, title: "bytes, every reference",
            metric: storeBytes("referenced")
        ) { $0.held.bytesReferenced },
        Figure("orphan_blobs", title: "orphan blobs") { $0.held.orphanBlobs },
        Figure(
            "orphan_bytes", .bytes, title: "orphan bytes", top: .store("orphaned", 2),
            metric: storeBytes("orphaned")
        ) { $0.held.orphanBytes },
        Figure(
            "leases", title: "leases",
            metric: .gauge("blobd_leases", "Blobs kept until peers have read them.")
        ) { $0.held.leases },
        Figure(
            "tombstones", title: "tombstones",
            metric: .gauge("blobd_tombstones", "Remembered deletions and category edits.")
        ) { $0.held.tombstones },
        Figure(
            "held_blobs", title: "held blobs",
            metric: .gauge("blobd_held_blobs", "Blobs with a hold.")
        ) { $0.held.heldBlobs },
        Figure("categories", title: "categories", metric: .gauge("blobd_categories", "Categories."))
        {
            $0.held.categories
        },
        Figure(
            "watchers", title: "watchers", top: .traffic("waiting", 7),
            metric: .gauge("blobd_watchers", "Waits, event streams and watches.")
        ) { $0.store.feedWatch.count },
        Figure(
            "file_bytes", .bytes, title: "data file", top: .store("file", 3),
            metric: storeBytes("file")
        ) { $0.held.fileByteCount },
        Figure(
            "allocated_bytes", .bytes, top: .store("on disk", 4), metric: storeBytes("allocated")
        ) {
            $0.store.allocatedByteCount
        },
        Figure("free_bytes", .bytes, title: "free in the data file", metric: storeBytes("free")) {
            $0.held.freeByteCount
        },
        Figure("revision", title: "revision") { Int(clamping: $0.held.revision) },
        Figure(
            nil,
            metric: .counter("blobd_corrupt_chunks_total", "Damaged chunks found since the start.")
        ) {
            $0.store.damageCounts.chunks
        },
        Figure(
            nil, metric: .gauge("blobd_quarantined_blobs", "Damaged blobs, which are not sent.")
        ) {
            $0.store.quarantinedBlobs.count
        },
        Figure(
            nil, metric: .gauge("blobd_disk_free_bytes", "Free bytes of the store's file system.")
        ) { $0.store.freeDiskByteCount ?? 0 },
        Figure(
            nil,
            metric: .gauge(
                "blobd_wal_bytes", "Uncommitted bytes of the write-ahead log.")
        ) { $0.store.pendingLogByteCount },
    ]

    private static func storeBytes(_ kind: String) -> Sample {
        .gauge("blobd_store_bytes", "Bytes of the store, by kind.", ("kind", kind))
    }
}
