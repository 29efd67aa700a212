import BlobStore
import Bytes
import TestSupport

/// A client that reads slowly: it has found a part, and looks at its bytes a while later.
///
/// What it may still read must not be freed, evicted or overwritten. It has a lease, as a connection
/// that is being sent a payload, or the snapshot itself, as another process has.
struct Reader {
    private enum Hold {
        case lease(HeldLease, BlobReference, stored: [UInt8])
        case snapshot(HeldSnapshot, read: (blob: BlobReference, stored: [UInt8])?)
    }

    private final class HeldLease {
        let lease: Lease
        init(_ lease: consuming Lease) { self.lease = lease }
    }

    private final class HeldSnapshot {
        var snapshot: Snapshot?
        init(_ snapshot: consuming Snapshot) { self.snapshot = consume snapshot }
    }

    private let number: Int
    private let part: String
    private let content: Int
    private let now: Timestamp
    private var hold: Hold

    /// Begins to read; nil where there is nothing to read in this store.
    static func begin(_ host: Host, _ chance: inout SeededGenerator) throws -> Reader? {
        let (world, now) = (host.world, host.now)
        let number = chance.below(world.swarm.idCount)
        guard let store = host.store,
            let version = host.expected?[number], version.expiresAt > now,
            let (part, content) = version.parts.min(by: { $0.key < $1.key }),
            !world.damaged.contains(content)
        else { return nil }
        let hold =
            try chance.chance(50)
            ? held(store, number, part, now) : leased(store, number, part, now)
        return hold.map {
            Reader(number: number, part: part, content: content, now: now, hold: $0)
        }
    }

    private static func held(
        _ store: BlobStore, _ number: Int, _ part: String, _ now: Timestamp
    ) throws -> Hold {
        let snapshot = try store.makeSnapshot()
        guard let blob = try store.record(for: "n\(number)", asOf: now)?.part(named: part)?.blob,
            (try? beginReading(number, part, now, in: snapshot)) != nil,
            let stored = try? store.storedBytes(of: blob)
        else { return .snapshot(HeldSnapshot(snapshot), read: nil) }
        return .snapshot(HeldSnapshot(snapshot), read: (blob, stored))
    }

    /// Reads as a connection does: what is being evicted is refused.
    private static func beginReading(
        _ number: Int, _ part: String, _ now: Timestamp, in snapshot: borrowing Snapshot
    ) throws(StoreError) {
        let (id, name) = (Array("n\(number)".utf8), Array(part.utf8))
        guard
            case .found(let payload) = try snapshot.payload(
                for: id.span.bytes, part: name.span.bytes, asOf: now)
        else { throw .corrupt("it is gone") }
        _ = try payload.ownedBytes()
    }

    /// Takes a lease of what it has read, and ends its snapshot: as a connection does that was sent
    /// the first bytes and waits for its client.
    ///
    /// - Returns: false where it has a lease already, or has read nothing.
    mutating func takeLease() -> Bool {
        guard case .snapshot(let held, let read?) = hold, let snapshot = held.snapshot.take()
        else { return false }
        hold = .lease(HeldLease(snapshot.lease(read.blob)), read.blob, stored: read.stored)
        return true
    }

    private static func leased(
        _ store: BlobStore, _ number: Int, _ part: String, _ now: Timestamp
    ) throws -> Hold? {
        guard let blob = try store.record(for: "n\(number)", asOf: now)?.part(named: part)?.blob
        else { return nil }
        let lease = try? store.withSnapshot { (snapshot) throws(StoreError) in
            let lease = HeldLease(snapshot.lease(blob))
            // Who reads the first chunk under a lease keeps them all here.
            try beginReading(number, part, now, in: snapshot)
            return lease
        }
        guard let lease, let stored = try? store.storedBytes(of: blob) else { return nil }
        return .lease(lease, blob, stored: stored)
    }

    /// Reads, and compares.
    func finish(_ host: Host) throws {
        guard let store = host.store else { return }
        let place = "\(host.name) n\(number)/\(part) of content \(content)"
        switch hold {
        case .lease(let lease, let blob, let stored):
            host.world.sometimes("read under a lease")
            let bytes: [UInt8]
            do throws(StoreError) { bytes = try store.storedBytes(of: blob) } catch {
                throw Finding("bytes under a lease are gone: \(Host.words("\(error)"))", place)
            }
            withExtendedLifetime(lease) {}
            guard bytes == stored else { throw Finding("bytes under a lease changed", place) }
        case .snapshot(let held, _):
            host.world.sometimes("read in an old snapshot")
            guard let bytes = try read(held, place) else { return }
            guard bytes == PayloadContents.bytes(content, isBulk: host.world.swarm.has(.bulk))
            else { throw Finding("wrong bytes in an old snapshot", place) }
        }
    }

    /// - Returns: nil where they are evicted.
    private func read(_ held: HeldSnapshot, _ place: String) throws -> [UInt8]? {
        let (id, name) = (Array("n\(number)".utf8), Array(part.utf8))
        guard let snapshot = held.snapshot.take() else { return nil }
        do throws(StoreError) {
            guard
                case .found(let payload) = try snapshot.payload(
                    for: id.span.bytes, part: name.span.bytes, asOf: now)
            else { throw .corrupt("it is gone") }
            return try payload.ownedBytes()
        } catch {
            if case .evicted = error { return nil }
            throw Finding("an old snapshot has lost something: \(Host.words("\(error)"))", place)
        }
    }
}
