package import BlobStore

/// Reads the log of a shard, name by name.
package struct LogFollower {
    /// What is behind a position.
    package enum Next: Sendable {
        case segment(Segment)
        /// Nothing yet.
        case nothing
    }

    private let storeID: StoreID
    /// The last segment that was read.
    package private(set) var position: LogPosition
    /// What was given and is not accepted yet.
    private var current: Segment?
    /// Segments of a pack that are read next.
    private var packed: [Segment] = []

    /// A reader.
    package init(storeID: StoreID, behind position: LogPosition) {
        self.storeID = storeID
        self.position = position
    }

    /// The next segment, which counts as read. See ``peek(on:looksAtPacks:)``.
    package mutating func next(
        on bucket: some Bucket, looksAtPacks: Bool
    ) throws(ReplicationError) -> Next {
        let next = try peek(on: bucket, looksAtPacks: looksAtPacks)
        accept()
        return next
    }

    /// The next segment, which is given again until it is accepted. One request where it is there or not there
    /// yet.
    ///
    /// - Parameter looksAtPacks: whether packs are looked at where the name is missing: it may have been
    ///   packed and deleted. A request more.
    /// - Throws: ``ReplicationError/tooOld(position:)`` when neither has it, and later ones are there;
    ///   ``ReplicationError/forked(number:)`` when it does not continue what was read.
    package mutating func peek(
        on bucket: some Bucket, looksAtPacks: Bool
    ) throws(ReplicationError) -> Next {
        if let current { return .segment(current) }
        if packed.isEmpty {
            if let segment = try Segment.read(position.number + 1, on: bucket) {
                // A fence may have been put where the name was free because it had been packed. The pack is
                // the history then.
                if segment.head.kind == .fence { try readPack(on: bucket) }
                if packed.isEmpty {
                    try segment.require(of: storeID, behind: position)
                    current = segment
                    return .segment(segment)
                }
            } else {
                guard looksAtPacks else { return .nothing }
                try readPack(on: bucket)
            }
        }
        guard !packed.isEmpty else { return .nothing }
        let segment = packed.removeFirst()
        try segment.require(of: storeID, behind: position)
        current = segment
        return .segment(segment)
    }

    /// What was given last is applied: the next one is behind it.
    package mutating func accept() {
        guard let segment = current else { return }
        position = segment.position
        current = nil
    }

    /// Reads the pack that has the next segment; nothing where there is none and nothing is behind it.
    private mutating func readPack(on bucket: some Bucket) throws(ReplicationError) {
        let wanted = position.number + 1
        let ranges = try Pack.ranges(reaching: wanted, on: bucket)
        guard let range = ranges.last(where: { $0.contains(wanted) }) else {
            guard ranges.allSatisfy({ $0.upperBound < wanted }) else {
                throw .tooOld(position: position.number)
            }
            return
        }
        // It may have been deleted since it was listed: too old, then, as the next look finds.
        guard let segments = try Pack.segments(range, on: bucket) else { return }
        packed = segments.filter { $0.head.number >= wanted }
    }
}
