/// The value `starts` of the table `meta`: when recent runs that lend pages of `data.mdb` began, by
/// which the pages that a peer of an earlier run may still hold are kept from being used again.
///
/// Each entry is also the latest moment at which the run before it can have ended. Runs of an
/// earlier boot have no peers left, so the log is of one boot only.
struct StartLog: Equatable {
    /// A run's start.
    struct Start: Equatable {
        /// The last commit before it: what was an orphan by then was no longer lent by this run.
        var transaction: UInt64
        /// Milliseconds of the boot clock; 0: no run of this boot lent anything before it.
        var moment: Int64
    }

    /// Which boot the moments are of.
    var bootID: BootID
    /// By transaction, ascending. Only the newest of those whose grace is over is needed, and is
    /// kept.
    var starts: [Start]

    static let name = "starts"
    /// More than ``add(_:graceMilliseconds:)`` ever leaves.
    static let countMax = 64
    /// Of a daemon that starts again and again, two starts in this part of the grace are enough.
    static let graceParts: Int64 = 20
    private static let headerByteCount = 24
    private static let startByteCount = 16

    init(bootID: BootID, starts: [Start] = []) {
        self.bootID = bootID
        self.starts = starts
    }

    init(_ value: RawSpan) throws(StoreError) {
        let overhead = Self.headerByteCount + 8
        // Lengths first: a checksum of gigabytes would take seconds.
        guard value.byteCount >= overhead,
            value.byteCount <= overhead + Self.countMax * Self.startByteCount
        else { throw .corrupt("the log of starts") }
        let checked = value.byteCount - 8
        guard (value.byteCount - overhead) % Self.startByteCount == 0,
            value.integer(at: checked, as: UInt32.self)
                == Checksum(value.extracting(first: checked)).value
        else { throw .corrupt("the log of starts") }
        let count = (value.byteCount - overhead) / Self.startByteCount
        guard count <= Self.countMax, Int(value.integer(at: 16, as: UInt32.self)) == count else {
            throw .corrupt("the log of starts")
        }
        bootID = BootID(high: value.integer(at: 0), low: value.integer(at: 8))
        starts = []
        for index in 0..<count {
            let offset = Self.headerByteCount + index * Self.startByteCount
            starts.append(
                Start(
                    transaction: value.integer(at: offset), moment: value.integer(at: offset + 8)))
        }
    }

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(bootID.high)
        bytes.appendLittleEndian(bootID.low)
        bytes.appendLittleEndian(UInt32(starts.count))
        bytes.appendLittleEndian(UInt32(0))
        for start in starts {
            bytes.appendLittleEndian(start.transaction)
            bytes.appendLittleEndian(start.moment)
        }
        bytes.appendLittleEndian(Checksum(bytes.span.bytes).value)
        bytes.appendLittleEndian(UInt32(0))
        return bytes
    }

    /// Notes a start. The log stays shorter than ``countMax`` however often a daemon starts, and an
    /// orphan waits for at most a ``graceParts``th of the grace longer than it had to.
    mutating func add(_ start: Start, graceMilliseconds: Int64) {
        let now = start.moment
        // A moment that has not come yet makes no sense: it counts as now.
        for index in starts.indices { starts[index].moment = min(starts[index].moment, now) }
        if let newest = starts.lastIndex(where: { now - $0.moment >= graceMilliseconds }) {
            starts.removeFirst(newest)
        }
        // Of three that are close together the middle one is not needed.
        if starts.count > 1,
            now - starts[starts.count - 2].moment < graceMilliseconds / Self.graceParts
        {
            starts.removeLast()
        }
        starts.append(start)
        // Not reached while moments ascend. The oldest go first, which only makes orphans wait.
        if starts.count > Self.countMax { starts.removeFirst(starts.count - Self.countMax) }
    }

    /// The first start after which an orphan of `transaction` was no longer lent; nil when that run
    /// is still going on.
    func end(of transaction: UInt64) -> Start? {
        starts.first { $0.transaction >= transaction }
    }
}
