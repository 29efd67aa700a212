import BlobClient
import TestSupport

/// Compares the size of the data file with the bytes that live in it, from time to time.
///
/// The file never shrinks. So it is compared with the most bytes that ever lived at once, of those
/// moments that were looked at.
struct SizeWatch {
    /// Bytes that are not counted as growth: what is kept back for deletes, and one step of
    /// allocation.
    static let allowance = 2 << 20
    /// How long what a daemon of an earlier run may have sent is not freed when daemons start again
    /// and again, in milliseconds: two graces. And as much again as a look may be late.
    private static let keptMilliseconds = 2 * 60_000 + 5_000

    private let path: String
    /// From when on sizes count, in milliseconds.
    private let settledAt: Int
    private var starts: [Int] = []
    /// The size of the file at the last look.
    private(set) var fileByteCount = 0
    /// The most bytes that lived at once.
    private(set) var liveByteCountMax = 0
    private(set) var orphanByteCountMax = 0
    private(set) var leaseCountMax = 0
    /// The most of the file for a hundred live bytes, once it is stable.
    private(set) var percentMax = 0
    /// The same of what the limit allows to be kept after kills.
    private(set) var keptPercentMax = 0
    private(set) var lookCount = 0

    init(data: String, settlesAfterMilliseconds: Int) {
        path = data + "/data.mdb"
        settledAt = Clock.milliseconds() + settlesAfterMilliseconds
    }

    /// The daemon has been started again.
    mutating func noteStart() { starts.append(Clock.milliseconds()) }

    /// Looks at the file and asks the daemon what lives in it.
    mutating func look(_ connection: inout BlobConnection) throws {
        let statistics = try connection.call(.stats)
        guard let live = statistics.bytesStored, let orphans = statistics.orphanBytes,
            let leases = statistics.leases
        else {
            throw TestFailure("the daemon's stats say nothing of sizes")
        }
        fileByteCount = try Files.byteCount(path)
        liveByteCountMax = max(liveByteCountMax, Int(live))
        orphanByteCountMax = max(orphanByteCountMax, Int(orphans))
        leaseCountMax = max(leaseCountMax, Int(leases))
        let now = Clock.milliseconds()
        guard now >= settledAt, liveByteCountMax > 0 else { return }
        lookCount += 1
        let counted = max(0, fileByteCount - Self.allowance) * 100
        percentMax = max(percentMax, counted / liveByteCountMax)
        // Each start keeps at most everything that lived then, whatever is replaced meanwhile.
        let recent = starts.count { now - $0 <= Self.keptMilliseconds }
        keptPercentMax = max(keptPercentMax, counted / (liveByteCountMax * (1 + recent)))
    }

    /// Figures for people.
    func figures(isKilled: Bool) -> String {
        "data file \(mebibytes(fileByteCount)), at most \(mebibytes(liveByteCountMax)) live, "
            + "\(percentMax) % of that in the worst of \(lookCount) seconds"
            + (isKilled ? ", \(keptPercentMax) % with what is kept after a start" : "")
            + "; at most \(mebibytes(orphanByteCountMax)) orphaned, \(leaseCountMax) leases"
    }
}
