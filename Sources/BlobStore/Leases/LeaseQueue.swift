/// Leases that end one after the other as a receiver reads on: each is held up to a position in the
/// stream of bytes it was sent.
///
/// Taking one costs a lock for some nanoseconds, and memory only while the queue grows. Leases that
/// are still held when the queue ends are given up then.
public struct LeaseQueue: ~Copyable {
    private struct Entry {
        var number: UInt64
        var position: Int
    }

    private let table: LeaseTable
    /// Oldest first. It stays short, so taking from its front is cheap.
    private var entries: [Entry] = []

    init(in table: LeaseTable) { self.table = table }

    deinit {
        for entry in entries { table.release(entry.number) }
    }

    /// How many leases are held.
    public var count: Int { entries.count }
    /// Whether no lease is held.
    public var isEmpty: Bool { entries.isEmpty }

    /// Keeps a blob's chunks where they are until the receiver has read up to `position`.
    ///
    /// - Parameters:
    ///   - blob: found in a snapshot that is open, or leased otherwise.
    ///   - position: not less than that of the lease taken before.
    public mutating func take(_ blob: BlobReference, until position: Int) {
        if let last = entries.indices.last, entries[last].number == blob.number {
            entries[last].position = position
            return
        }
        table.take(blob.number)
        entries.append(Entry(number: blob.number, position: position))
    }

    /// Ends the leases of what the receiver has read.
    ///
    /// - Parameter position: everything before it has been read.
    public mutating func release(upTo position: Int) {
        var done = 0
        while done < entries.count, entries[done].position <= position {
            table.release(entries[done].number)
            done += 1
        }
        guard done > 0 else { return }
        if done == entries.count {
            entries.removeAll(keepingCapacity: true)
        } else {
            entries.removeFirst(done)
        }
    }

    /// Gives its memory back when it is empty, for a receiver that has become quiet.
    public mutating func shrink() {
        if entries.isEmpty { entries = [] }
    }
}
