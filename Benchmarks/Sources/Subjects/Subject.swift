/// One thing that is measured: by the clock under `swift package benchmark`, in instructions and
/// allocations under `Benchmarks/instructions`.
public struct Subject: Sendable {
    /// Does the thing so many times.
    public typealias Work = @Sendable (_ count: Int) throws -> Void

    /// What it is called in tables.
    public let name: String
    /// How much the instructions vary from run to run, in percent.
    public let tolerancePercent: Int
    /// Whether one time takes long, because of a sync or its size; it is repeated less often then.
    public let isSlow: Bool
    /// Prepares it, which is not measured.
    public let prepare: @Sendable () throws -> Work

    init(
        _ name: String, tolerancePercent: Int = 3, isSlow: Bool = false,
        prepare: @escaping @Sendable () throws -> Work
    ) {
        self.name = name
        self.tolerancePercent = tolerancePercent
        self.isSlow = isSlow
        self.prepare = prepare
    }
}

/// All of them, by what they are about. The first of each is its baseline: what C, or the kernel,
/// does in the same place.
public enum Subjects {
    /// Groups and their members, in the order of the tables.
    public static var all: [(group: String, subjects: [Subject])] {
        [
            ("StoreReads", storeReads), ("Misses", misses), ("Publishes", publishes),
            ("Maintenance", maintenance), ("Feeds", feeds), ("Codecs", codecs),
        ]
    }
}

/// What went wrong with a measurement.
struct SubjectFailure: Error {
    var reason: String
}

/// Keeps the optimiser from leaving out what is measured.
@inline(never)
func use(_ value: UInt64) {
    // Volatile enough: the function is not inlined, and its argument must be computed.
}
