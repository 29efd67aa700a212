import Glibc
import TestSupport
import Testing

@testable import BlobStore

/// A log that is gone. With acknowledged changes pending in it, `changes.log` was removed, emptied,
/// cut, or put back from an earlier time or from another store: the store opened, said nothing, and
/// `verify` was clean, with 6 to 8 of 8 changes gone.
@Suite struct LostLogTests {
    private let folder = TemporaryFolder()

    /// What somebody does to a log.
    enum Spoiling: String, CaseIterable {
        case removed, emptied, zeroed, cutToOneRecord, cutByOneByte, earlier, earlierRun,
            otherStore, rubbish

        func spoil(_ path: String, _ others: Others) throws {
            let log = path + "/changes.log"
            switch self {
            case .removed: Files.remove(log)
            case .emptied: try Files.write([], to: log)
            case .zeroed:
                try Files.write([UInt8](repeating: 0, count: StoreLimits.logByteCount), to: log)
            case .cutToOneRecord: #expect(truncate(log, 4_096) == 0)
            case .cutByOneByte: #expect(truncate(log, off_t(StoreLimits.logByteCount - 1)) == 0)
            case .earlier: try Files.write(others.earlier, to: log)
            case .earlierRun: try Files.write(others.earlierRun, to: log)
            case .otherStore: try Files.write(others.otherStore, to: log)
            case .rubbish:
                var generator = SeededGenerator(seed: 7)
                try Files.overwrite(generator.bytes(4_096), at: 0, in: log)
            }
        }
    }

    /// Logs of other times and stores.
    struct Others {
        var earlier: [UInt8] = []
        var earlierRun: [UInt8] = []
        var otherStore: [UInt8] = []
    }

    /// A folder as a kill leaves it, with a notification that is committed and eight that are only
    /// in the log.
    private static func killed(withMarks: Bool) throws -> (TemporaryFolder, Others) {
        let folder = TemporaryFolder()
        var others = Others()
        do {
            let store = try folder.openLogging()
            try store.put("first run", [1])
            others.earlierRun = try log(of: folder)
            try store.endLogging()
        }
        do {
            let other = TemporaryFolder()
            let store = try other.openLogging()
            try store.put("other", [1])
            others.otherStore = try log(of: other)
        }
        let store = try folder.openLogging()
        try store.put("committed", [1])
        others.earlier = try log(of: folder)
        try store.commitPending()
        try store.put("later", [1])
        try store.commitPending()
        for number in 0..<8 { try store.put("\(number)", [UInt8(number)]) }
        #expect(store.pendingChanges.batchCount == 8)
        return (try folder.copy(withMarks: withMarks), others)
    }

    private static func log(of folder: TemporaryFolder) throws -> [UInt8] {
        try Files.read(folder.path + "/changes.log")
    }

    private static func names(in store: BlobStore) throws -> Set<String> {
        var names: Set<String> = []
        for id in ["first run", "committed", "later"] + (0..<8).map({ "\($0)" }) {
            if try store.lookUp(id) == .found { names.insert(id) }
        }
        return names
    }

    @Test("A log that blobd 0.2.0 did not end is refused by name, and left as it is")
    func earlierVersion() throws {
        let (folder, _) = try Self.killed(withMarks: false)
        let path = folder.path + "/changes.log"
        try Files.overwrite([2], at: 8, in: path)
        let before = try Files.read(path)
        for discards in [false, true] {
            let error = try failure { _ = try folder.open { $0.discardsLog = discards } }
            #expect(error.openReason?.contains("blobd 0.2.0 has left changes in it") == true)
        }
        #expect(try Files.read(path) == before)
    }

    // They are in links: one led to what another owner got later.
    @Test("Ids that were assigned in a log that is gone are not assigned again")
    func assignedIDs() throws {
        let store = try folder.openLogging()
        #expect(try store.put(nil, [1]).id == "0")
        try store.commitPending()
        let lost = try (0..<8).map { _ in try store.put(nil, [1]).id }
        let copy = try folder.copy()
        Files.remove(copy.path + "/changes.log")
        let opened = try copy.open { $0.discardsLog = true }
        #expect(try opened.lookUp("0") == .found)
        #expect(try opened.lookUp(lost[0]) != .found)
        let ids = try (0..<8).map { _ in try opened.put(nil, [2]).id }
        #expect(Set(ids).isDisjoint(with: lost), "\(ids)")
        try store.endLogging()
    }

    @Test(
        "With changes pending, a log that is gone is refused by name; with an option it goes on",
        arguments: Spoiling.allCases, [true, false])
    func refused(spoiling: Spoiling, withMarks: Bool) throws {
        let (folder, others) = try Self.killed(withMarks: withMarks)
        try spoiling.spoil(folder.path, others)

        func expectRefusal(_ error: StoreError) {
            let reason = error.openReason ?? ""
            #expect(reason.contains(folder.path + "/changes.log"), "\(error)")
            #expect(reason.contains("--discard-log"), "\(error)")
            #expect(
                reason.contains(
                    withMarks
                        ? "up to 8 acknowledged changes may be missing"
                        : "an unknown number of acknowledged changes may be missing"),
                "\(error)")
        }
        expectRefusal(try failure { _ = try folder.open() })
        // Also the second time, and for those who only read.
        expectRefusal(try failure { _ = try folder.open() })
        expectRefusal(try failure { _ = try BlobStore.openReadOnly(at: folder.path) })
        do {
            var options = BlobStore.Options()
            options.ignoresLog = true
            let reader = try BlobStore.openReadOnly(at: folder.path, options: options)
            let report = try reader.verify()
            #expect(report.problemCount == 1, "\(report.problems)")
            #expect(report.problems.first?.contains("changes.log") == true)
        }

        let notices = Notices()
        do {
            let store = try folder.open {
                $0.discardsLog = true
                $0.onLogNotice = { notices.add($0) }
            }
            guard case .discarded(let reason) = notices.all.first, notices.all.count == 1 else {
                Issue.record("\(notices.all)")
                return
            }
            #expect(reason.contains("changes.log"), "\(reason)")
            #expect(try Self.names(in: store) == ["first run", "committed", "later"])
            #expect(try store.verify().problems == [])
            // It is a store like any other.
            try store.beginLogging()
            try store.put("0", [1])
            let names = try folder.withCopy { try Self.names(in: $0) }
            #expect(names == ["first run", "committed", "later", "0"])
            try store.endLogging()
        }
        let store = try folder.open()
        #expect(try Self.names(in: store) == ["first run", "committed", "later", "0"])
    }

    /// `changes.pending` says how many there were, where the log itself cannot.
    @Test("A log from just before the pending changes is refused by the count of them")
    func putBackFromJustBefore() throws {
        let store = try folder.openLogging()
        try store.put("committed", [1])
        try store.commitPending()
        let before = try Self.log(of: folder)
        for number in 0..<8 { try store.put("\(number)", [1]) }
        let copy = try folder.copy(withMarks: true)
        try Files.write(before, to: copy.path + "/changes.log")
        let error = try failure { _ = try copy.open() }
        #expect(error.openReason?.contains("has 0 of the 8 batches") == true, "\(error)")
        #expect(error.openReason?.contains("up to 8 acknowledged changes") == true, "\(error)")
    }

    @Test("A log that is in order is used, whatever the option says", arguments: [true, false])
    func inOrder(discards: Bool) throws {
        let (folder, _) = try Self.killed(withMarks: true)
        do {
            var options = BlobStore.Options()
            options.ignoresLog = true
            let reader = try BlobStore.openReadOnly(at: folder.path, options: options)
            let report = try reader.verify()
            #expect(report.isClean && report.changesInLog == 8)
        }
        let notices = Notices()
        let store = try folder.open {
            $0.discardsLog = discards
            $0.onLogNotice = { notices.add($0) }
        }
        #expect(notices.all == [.replayed(changes: 8)])
        #expect(try Self.names(in: store).count == 11)
        let report = try store.verify()
        #expect(report.isClean && report.changesInLog == 0)
    }

    @Test("After an end in order nothing is pending, and a missing log is no error")
    func cleanEnd() throws {
        do {
            let store = try folder.openLogging()
            for number in 0..<8 { try store.put("\(number)", [1]) }
            try store.endLogging()
        }
        for _ in 0..<2 {
            Files.remove(folder.path + "/changes.log")
            let store = try folder.open()
            #expect(try Self.names(in: store).count == 8)
            try store.put("committed", [1])
            _ = try store.delete("committed", asOf: noon)
        }
        let reader = try BlobStore.openReadOnly(at: folder.path)
        #expect(try Self.names(in: reader).count == 8)
    }

    @Test("A program that opens the store and does not log has no log afterwards")
    func withoutLogging() throws {
        do {
            let store = try folder.openLogging()
            try store.put("1", [1])
            let copy = try folder.copy(withMarks: true)
            do {
                // It ends as it likes.
                let embedded = try copy.open()
                try embedded.put("2", [1])
            }
            Files.remove(copy.path + "/changes.log")
            let again = try copy.open()
            #expect(try Self.names(in: again) == ["1", "2"])
        }
    }

    @Test(
        "A last record that is not whole is dropped with a word of it, and refused where it was synced",
        arguments: [0, 1, 7])
    func lastRecord(kept: Int) throws {
        for missing in 1...2 {
            let folder = TemporaryFolder()
            let store = try folder.openLogging()
            try store.put("committed", [1])
            try store.commitPending()
            for number in 0..<kept + missing { try store.put("\(number)", [UInt8(number)]) }
            let copy = try folder.copy(withMarks: true)
            let rubbish = [UInt8](repeating: 0xA5, count: 64)
            for number in kept..<kept + missing {
                // Behind the head, so that the record begins as it should.
                try Files.overwrite(
                    rubbish, at: number * 4_096 + 600, in: copy.path + "/changes.log")
                try Files.overwrite(
                    rubbish, at: number * 4_096 + 70, in: copy.path + "/changes.log")
            }
            let notices = Notices()
            let error = try failure { _ = try copy.open() }
            #expect(
                error.openReason?.contains("has \(kept) of the \(kept + missing) batches") == true,
                "\(error)")
            let pending = copy.path + "/changes.pending"
            if missing == 1 {
                // Its process ended while it was being written.
                var synced = try Array(Files.read(pending)[40..<48])
                synced[0] -= 1
                try Files.overwrite(synced, at: 40, in: pending)
            } else {
                // Without the count the one that was begun is seen.
                Files.remove(pending)
            }
            let opened = try copy.open { $0.onLogNotice = { notices.add($0) } }
            #expect(notices.all.contains(.lastRecordDropped))
            #expect(notices.all.contains(.replayed(changes: kept)) == (kept > 0))
            #expect(try Self.names(in: opened) == Set(["committed"] + (0..<kept).map { "\($0)" }))
        }
    }

    @Test("What the store says of its log may be damaged, which is refused like a lost log")
    func damagedState() throws {
        let (folder, _) = try Self.killed(withMarks: true)
        do {
            let store = try folder.open()
            try store.overwrite(
                Array(LogState.name.utf8), in: store.core.tables.meta, with: [1, 2, 3])
        }
        let error = try failure { _ = try folder.open() }
        #expect(error.openReason?.contains("the entry \"log\" of data.mdb") == true, "\(error)")
        let store = try folder.open { $0.discardsLog = true }
        #expect(try store.verify().problems == [])
    }
}
