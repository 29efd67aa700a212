import TestSupport
import Testing

@testable import BlobStore

/// No room: an error that says so, never a signal, and a store that goes on.
@Suite struct FullTests {
    private let folder = TemporaryFolder()

    @Test(
        "A disk that fills up: publishes are refused, reads are right, deletes make room",
        .enabled(if: SmallDisk.isPossible, "only root can mount a small disk"),
        arguments: [
            (1_000, true, false), (30_000, false, false), (200_000, true, false),
            (1_000, true, true), (30_000, false, true),
        ])
    func disk(byteCount: Int, hasOwners: Bool, isLogging: Bool) throws {
        // An eighth of it is left to payloads on their way in, which eight of the longest fit with
        // more to spare than tmpfs miscounts by.
        let disk = try SmallDisk(byteCount: (isLogging ? 50 : 16) << 20)
        let path = disk.path + "/data"
        // It opens again, and goes on.
        for _ in 0..<2 {
            let store = try BlobStore.open(at: path)
            if isLogging { try store.beginLogging() }
            try fillAndEmpty(store, byteCount, hasOwners: hasOwners)
            try store.endLogging()
        }
    }

    @Test(
        "A store that has the size it may have is full in the same way",
        arguments: [(1_000, false, false), (200_000, true, false), (9_000, true, true)])
    func mapSize(byteCount: Int, hasOwners: Bool, isLogging: Bool) throws {
        // A disk in memory, where there can be one: there are many commits.
        let disk = try SmallDisk.isPossible ? SmallDisk(byteCount: 64 << 20) : nil
        let folder = disk?.folder ?? folder
        let store = try folder.open { $0.mapByteCountMax = 8 << 20 }
        if isLogging { try store.beginLogging() }
        for _ in 0..<2 {
            try fillAndEmpty(
                store, byteCount, hasOwners: hasOwners, afterKill: isLogging ? folder : nil)
        }
    }

    /// Makes changes, many at a time, until there is no room for one.
    ///
    /// - Returns: how many there was room for.
    private func fill(_ store: BlobStore, _ change: (Int) -> Change) throws -> Int {
        var count = 0
        while true {
            let outcomes = try store.apply((count..<count + 64).map(change), asOf: noon)
            count += outcomes.count { $0.isDone }
            if let error = outcomes.lazy.compactMap({ $0.error }).first {
                #expect(error.isFull)
                return count
            }
            try #require(count < 100_000)
        }
    }

    /// Removals are remembered, which takes room, and those of many owners touch many pages.
    @Test(
        "What has expired goes from a full store, though its owners must hear of it",
        .enabled(if: SmallDisk.isPossible, "only root can mount a small disk"),
        arguments: [8, 240])
    func owners(ownerByteCount: Int) throws {
        // A disk in memory: there are many commits.
        let disk = try SmallDisk(byteCount: 32 << 20)
        var options = BlobStore.Options()
        options.mapByteCountMax = 4 << 20
        let store = try BlobStore.open(at: disk.path + "/data", options: options)
        func change(_ index: Int) -> Change {
            let name = "\(index * 7_919 % 100_003)"
            let rest = String(repeating: "-", count: max(0, ownerByteCount - name.utf8.count))
            return .notification("\(index)", owner: name + rest, end: noon.adding(seconds: 10))
        }
        let count = try fill(store, change)
        #expect(count > 500)
        // One by one, and many together.
        let removed = count / 8
        for index in 0..<20 {
            let outcome = try store.apply(.delete(id: "\(index)"))
            #expect(outcome.isDone, "\(outcome)")
        }
        let outcomes = try store.apply(
            (20..<removed).map { .delete(id: "\($0)") }, asOf: noon)
        #expect(outcomes.allSatisfy { $0.isDone })
        let later = noon.adding(seconds: 10)
        var expired = removed
        while expired < count {
            let result = try store.sweepExpired(asOf: later, limit: 4_096)
            expired += result.expired
            try #require(result.expired > 0)
        }
        #expect(try store.counters().notifications == 0)
        #expect(try store.verify().problems == [])
        // What is remembered goes in its time.
        let end = later.adding(seconds: 31 * 86_400)
        while try store.sweepExpired(asOf: end, limit: 4_096).more {}
        #expect(try store.apply(change(count), asOf: noon).isDone)
    }

    /// A sweep was acknowledged by what one removal takes, and then had no room for its commit.
    @Test(
        "What goes from a full store in many steps can be committed, and a kill loses none of it",
        .enabled(if: SmallDisk.isPossible, "only root can mount a small disk"))
    func loggedSweep() throws {
        let disk = try SmallDisk(byteCount: 128 << 20)
        let folder = disk.folder
        let store = try folder.open { $0.mapByteCountMax = 8 << 20 }
        try store.beginLogging()
        let count = try fill(store) { index in
            .notification(
                "\(index)", owner: "\(index * 7_919 % 100_003)", end: noon.adding(seconds: 10))
        }
        try store.commitPending()
        var expired = 0
        while expired < count {
            let result = try store.sweepExpired(asOf: noon.adding(seconds: 10), limit: 1_024)
            try #require(result.expired > 0)
            expired += result.expired
            if expired % 3 == 0 {
                let left = try folder.withCopy { try $0.counters().notifications }
                #expect(Int(left) == count - expired)
            }
            if expired % 2 == 0 { try store.commitPending() }
        }
        try store.commitPending()
        #expect(try store.verify().problems == [])
        try store.endLogging()
    }

    @Test("A group goes from a full store as a whole, and its owner hears of each or begins anew")
    func group() throws {
        let store = try folder.open { $0.mapByteCountMax = 8 << 20 }
        let start = try store.changes(of: "anna", from: .latest).next
        let count = try fill(store) { number in
            Change.notification("\(number)", owner: "anna", group: "g") {
                $0.message = String(repeating: "m", count: 1_000)
            }
        }
        #expect(try store.deleteGroup("g", of: "anna", asOf: noon).changed == count)
        #expect(try store.counters().notifications == 0)
        #expect(try store.verify().problems == [])
        do throws(StoreError) {
            var told = 0
            var next = start
            var hasMore = true
            while hasMore {
                let page = try store.changes(of: "anna", from: .after(next), limit: 1_000)
                told += page.changes.count
                next = page.next
                hasMore = page.hasMore
            }
            #expect(told == count)
        } catch {
            guard case .resync = error else { throw error }
            #expect(try store.changes(of: "anna", from: .beginning).changes.isEmpty)
        }
    }

    /// - Parameter folder: is opened as a kill would leave it, when the store is full.
    private func fillAndEmpty(
        _ store: BlobStore, _ byteCount: Int, hasOwners: Bool,
        afterKill folder: TemporaryFolder? = nil
    ) throws {
        func bytes(_ index: Int) -> [UInt8] {
            let unique = withUnsafeBytes(of: index) { Array($0) }
            return unique + [UInt8](repeating: UInt8(truncatingIfNeeded: index), count: byteCount)
        }
        var count = 0
        while true {
            // A few together; when they do not fit, each is tried alone.
            let changes = try (count..<count + 8).map {
                // Far apart in the index, so that each touches pages of its own.
                let owner = hasOwners ? "\($0 * 7_919 % 1_000)" : nil
                return Change.publish(try store.publication("\($0)", bytes($0), owner: owner))
            }
            let outcomes = try store.apply(changes, asOf: noon)
            count += outcomes.prefix { $0.isDone }.count
            if let error = outcomes.lazy.compactMap({ $0.error }).first {
                #expect(error.isFull, "\(error)")
                // One behind it may have found room where it did not.
                for (index, outcome) in outcomes.enumerated() where outcome.isDone {
                    let id = "\(count / 8 * 8 + index)"
                    if index > count % 8 { try store.delete(id, asOf: noon) }
                }
                break
            }
            try #require(count < 20_000)
        }
        #expect(count > (4 << 20) / (byteCount + 4_096))
        if let folder {
            let killed = try folder.copy()
            let copy = try killed.open { $0.mapByteCountMax = store.options.mapByteCountMax }
            #expect(try copy.counters().notifications == UInt64(count))
            #expect(try copy.ownedPayload(for: "\(count - 1)", asOf: noon) == bytes(count - 1))
        }
        try store.commitPending()
        for index in stride(from: 0, to: count, by: max(1, count / 50)) {
            #expect(try store.ownedPayload(for: "\(index)", asOf: noon) == bytes(index))
        }
        #expect(try store.counters().notifications == UInt64(count))

        // Deletes work while it is full, one by one and many together, and their space comes back.
        let third = count / 3
        for index in 0..<min(third, 40) {
            #expect(try store.delete("\(index)", asOf: noon))
        }
        let outcomes = try store.apply(
            (min(third, 40)..<third).map { .delete(id: "\($0)") }, asOf: noon)
        #expect(outcomes.allSatisfy { $0.isDone })
        try store.freeAll()
        // Space that a commit gives back can be used after the next.
        #expect(try store.delete("\(third)", asOf: noon))
        try store.commitPending()
        var again = 0
        for index in 0..<max(1, third / 4) {
            let outcome = try store.apply(
                [.publish(store.publication("again-\(index)", bytes(100_000 + index)))], asOf: noon)[
                    0]
            if outcome.isDone { again += 1 }
        }
        try store.commitPending()
        #expect(again == max(1, third / 4))
        #expect(try store.ownedPayload(for: "again-0", asOf: noon) == bytes(100_000))
        #expect(try store.verify().problems == [])

        // And all of it goes: expiry needs no room either.
        let later = noon.adding(seconds: 4_000)
        while try store.sweepExpired(asOf: later, limit: 500).more {}
        try store.freeAll()
        let empty = try store.counters()
        #expect(empty.notifications == 0)
        #expect(empty.blobs == 0)
        #expect(empty.orphanBlobs == 0)
    }

    @Test(
        "Opening on a full disk ends with an error, not a signal, and leaves nothing behind",
        .enabled(if: SmallDisk.isPossible, "only root can mount a small disk"),
        arguments: [0, 4_096, 8_192, 20_000, 60_000, 70_000, 80_000, 90_000, 100_000])
    func openingOnFullDisk(left: Int) throws {
        let disk = try SmallDisk(byteCount: 4 << 20)
        try disk.fill(leaving: left)
        let path = disk.path + "/data"
        let (lines, status) = try Child.run(Child.torturer, ["open", path])
        if lines == ["opened"] {
            #expect(status == .exited(0))
        } else {
            #expect(status == .exited(1), "\(lines)")
            #expect(lines.first?.hasPrefix("error ") == true, "\(lines)")
            #expect(
                lines.first?.contains("no space") == true
                    || lines.first?.contains("No space") == true, "\(lines)")
        }
        #expect(!Files.exists(path + "/store.new"), "\(lines)")
        disk.empty()
        let store = try BlobStore.open(at: path)
        try store.put("a", [1])
    }

    @Test(
        "A store that is there is read on a full disk",
        .enabled(if: SmallDisk.isPossible, "only root can mount a small disk"))
    func readingOnFullDisk() throws {
        let disk = try SmallDisk(byteCount: 8 << 20)
        let path = disk.path + "/data"
        do { _ = try BlobStore.open(at: path).put("a", [1, 2, 3]) }
        try disk.fill(leaving: 0)
        let (lines, status) = try Child.run(Child.torturer, ["read", path, "a"])
        #expect(lines == ["found 3"])
        #expect(status == .exited(0))
        let (none, ended) = try Child.run(Child.torturer, ["open", path])
        let isRefused = none.first?.contains("no space") == true && ended == .exited(1)
        #expect(isRefused || none == ["opened"] && ended == .exited(0), "\(none) \(ended)")
        let (again, _) = try Child.run(Child.torturer, ["read", path, "a"])
        #expect(again == ["found 3"])
    }

    @Test(
        "A payload on its way in that finds no room is refused, and its file is gone",
        .enabled(if: SmallDisk.isPossible, "only root can mount a small disk"))
    func spool() throws {
        let disk = try SmallDisk(byteCount: 8 << 20)
        let store = try BlobStore.open(at: disk.path + "/data")
        try store.put("a", [1])
        let error = try failure {
            var writer = store.makePayloadWriter()
            let piece = [UInt8](repeating: 1, count: 1 << 20)
            for _ in 0..<20 { try writer.append(piece.span.bytes) }
        }
        #expect(error.isFull)
        try store.put("b", [UInt8](repeating: 2, count: 1 << 20))
        #expect(try store.lookUp("b") == .found)
    }
}
