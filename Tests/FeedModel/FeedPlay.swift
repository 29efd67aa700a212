public import BlobStore
import TestSupport

/// The model, the store and four devices for each owner, each at its own pace. The first one of
/// each has everything; the others have what matches a filter.
public struct FeedPlay {
    /// What should be.
    public internal(set) var model: FeedModel
    private var devices: [FeedDevice]
    private var noise: SeededGenerator
    /// Pages that were read and compared.
    public private(set) var pageCount = 0

    /// How many devices each owner has.
    static let deviceCount = 4
    /// Operations between two moments at which all devices catch up.
    static let quietInterval = 200

    /// For an empty store.
    public init(seed: UInt64, hasQuotas: Bool = false) {
        model = FeedModel(seed: seed, hasQuotas: hasQuotas)
        noise = SeededGenerator(seed: seed ^ 0xFEED)
        devices = (0..<FeedModel.ownerCount * Self.deviceCount).map {
            FeedDevice(
                owner: FeedModel.owner($0 / Self.deviceCount),
                $0 % Self.deviceCount == 0
                    ? RecordFilter() : Self.filters[$0 % Self.filters.count])
        }
    }

    /// What devices ask for. Their number has no divisor in common with that of the devices.
    private static let filters = [
        RecordFilter(isRead: false), RecordFilter(app: "app-0"), RecordFilter(group: "g1"),
        RecordFilter(actionState: .dismissed), RecordFilter(app: "app-1", isRead: false),
        RecordFilter(isRead: true, actionState: .activated), RecordFilter(),
        RecordFilter(app: "app-0", isRead: false, actionState: ActionState.none, group: "g0"),
        RecordFilter(app: "app-2"), RecordFilter(platform: "ios"),
        RecordFilter(platform: "tv", targetHost: "host-0"),
    ]

    /// How the store must be opened.
    public static var options: BlobStore.Options {
        var options = BlobStore.Options()
        options.mapByteCountMax = 1 << 30
        options.tombstoneRetentionMilliseconds = FeedModel.retentionSeconds * 1_000
        return options
    }

    /// The store's number of its latest change, as it should be.
    public var revision: UInt64 { model.revision }

    /// Does about `count` operations, with devices reading in between, and lets all of them catch
    /// up now and then and at the end.
    public mutating func run(_ count: Int, in store: BlobStore) throws {
        let end = model.operationCount + count
        var nextQuiet = model.operationCount + Self.quietInterval
        while model.operationCount < end {
            try model.run(4, in: store)
            // A snapshot has what is committed.
            try store.commitPending()
            for _ in 0..<8 {
                let index = noise.below(devices.count)
                // Some are away for long: the last of each owner reads seldom.
                if index % Self.deviceCount == 3, !noise.chance(5) { continue }
                try read(index, in: store)
            }
            if model.operationCount >= nextQuiet {
                nextQuiet = model.operationCount + Self.quietInterval
                try beQuiet(in: store)
            }
        }
        try beQuiet(in: store)
    }

    /// Does about `count` operations, and nobody reads.
    public mutating func change(_ count: Int, in store: BlobStore) throws {
        try model.run(count, in: store)
    }

    private mutating func read(_ index: Int, in store: BlobStore) throws {
        if noise.chance(1) { devices[index].cursor = nil }
        _ = try devices[index].read(
            model, in: store, limit: 1 + noise.below(9), fromHistory: noise.chance(50))
        pageCount += 1
    }

    /// The store has what it should, everything that is over is swept, all devices catch up, and each copy is
    /// whole.
    private mutating func beQuiet(in store: BlobStore) throws {
        try model.checkContents(in: store)
        try model.sweep(in: store)
        for index in devices.indices {
            // The last one is away for several such moments.
            if index % Self.deviceCount == 3, !noise.chance(10) { continue }
            while try devices[index].read(
                model, in: store, limit: 1 + noise.below(40), fromHistory: noise.chance(50))
            { pageCount += 1 }
            pageCount += 1
            try devices[index].checkWhole(model)
        }
    }
}
