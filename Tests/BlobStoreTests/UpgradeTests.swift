import Glibc
import LMDB
import Synchronization
import Testing

@testable import BlobStore

/// A store that a program of format version 1 has left, and what this one makes of it. What is in
/// it stands in `Fixtures/README.md`; at noon three of its notifications have expired.
@Suite struct UpgradeTests {
    private static let fixture =
        "/" + #filePath.split(separator: "/").dropLast().joined(separator: "/")
        + "/Fixtures/version-1.mdb"

    private static func folder() throws -> TemporaryFolder {
        let folder = TemporaryFolder()
        try Files.write(try Files.read(fixture), to: folder.path + "/data.mdb")
        return folder
    }

    /// `n-1` has the revision 41, because of its second part; the others their own numbers.
    private static func revision(_ number: Int) -> UInt64 { number == 1 ? 41 : UInt64(number) }

    /// Numbers of an owner's notifications, in the order of their revisions.
    private static func numbers(of user: Int) -> [Int] {
        (1..<40).filter { $0 % 5 == user && $0 % 8 != 0 }.sorted { revision($0) < revision($1) }
    }

    /// Everything the fixture's text says, found in `store`.
    private func expectWhole(_ store: BlobStore, _ name: String) throws {
        #expect(store.hasFeeds)
        let report = try store.verify()
        #expect(report.problems == [], "\(name)")
        for user in 0..<5 {
            let numbers = Self.numbers(of: user)
            let history = try store.history(of: "user-\(user)", asOf: noon)
            let living = numbers.filter { $0 % 13 != 0 }
            #expect(history.records.map(\.id) == living.reversed().map { "n-\($0)" }, "\(name)")
            #expect(history.next == nil)
            // The feed has no clock: what is not swept is there.
            let feed = try store.changes(of: "user-\(user)", from: .beginning)
            #expect(feed.changes.map(\.id) == numbers.map { "n-\($0)" }, "\(name)")
            #expect(feed.changes.map(\.revision) == numbers.map(Self.revision), "\(name)")
            #expect(feed.changes.allSatisfy { $0.kind == .published }, "\(name)")
            #expect(feed.next == FeedCursor(position: 42, base: 0))
        }
        try expectPayloads(store, name)
    }

    private func expectPayloads(_ store: BlobStore, _ name: String) throws {
        for number in 1..<40 where number % 10 != 0 {
            let bytes = try store.ownedPayload(for: "n-\(number)", asOf: noon)
            let expected = Array("payload \(number % 12) of the fixture\n".utf8)
            #expect(bytes == (number % 13 == 0 ? nil : expected), "\(name): n-\(number)")
        }
        let large = try store.ownedPayload(for: "n-10", asOf: noon)
        #expect(large?.count == 70_000)
        let record = try #require(try store.record(for: "n-1", asOf: noon))
        #expect(record.message == "message 1")
        #expect(record.parts.map(\.name) == ["payload", "extra"])
        let statistics = try store.statistics()
        #expect(statistics.notifications == 39)
        #expect(statistics.revision == 42)
    }

    @Test("A store of version 1 is upgraded, keeps what it has, and is used as any other")
    func upgraded() throws {
        let folder = try Self.folder()
        let said = Mutex<[UpgradeProgress]>([])
        let id: StoreID
        do {
            let store = try folder.open {
                $0.onUpgrade = { progress in said.withLock { $0.append(progress) } }
            }
            try expectWhole(store, "upgraded")
            id = store.id
        }
        #expect(
            said.withLock { $0.map(\.notifications) } == [0, 0, 39]
                && said.withLock { $0.map(\.isDone) } == [false, false, true])
        let store = try folder.open {
            $0.onUpgrade = { _ in Issue.record("it was upgraded before") }
        }
        #expect(store.id == id)
        try expectWhole(store, "opened again")
        try store.put("new", [1])
        try store.delete("n-2", asOf: noon)
        let found = try store.lookUp("new")
        #expect(found == .found)
    }

    @Test("From the first commit on, the file is of version 4, and readable from 4")
    func formatRecord() throws {
        let folder = try Self.folder()
        do { _ = try folder.open() }
        let environment = try Environment(
            directory: folder.path,
            Environment.Configuration(mapByteCount: 1 << 30, readerCountMax: 4, tableCountMax: 32))
        let tables = try Tables(opening: environment)
        let transaction = try environment.readers.begin()
        let formatName = Array(FormatRecord.name.utf8)
        let stored = try transaction.view.value(
            forKey: formatName.span.bytes, in: tables.meta)
        let format = if let stored { FormatRecord(stored) } else { nil as FormatRecord? }
        let value = try #require(format)
        #expect(value.version == 4)
        #expect(value.readableFrom == 4)
        let countersName = Array(Counters.name.utf8)
        let counters = try transaction.view.value(
            forKey: countersName.span.bytes, in: tables.meta)
        let countersByteCount = counters?.byteCount
        #expect(countersByteCount == 128)
        let markName = Array(UpgradeMark.name.utf8)
        let mark = try transaction.view.value(forKey: markName.span.bytes, in: tables.meta)
        let isMarked = mark != nil
        #expect(!isMarked)
    }

    /// What a kill behind each commit would leave is copied away, and opened.
    @Test("Stopped behind any of its transactions, the next opening goes on with it")
    func everyStep() throws {
        let folder = try Self.folder()
        let copies = Mutex<[TemporaryFolder]>([])
        do {
            let store = try folder.open { options in
                options.upgradeStepCountMax = 4
                options.onUpgrade = { _ in
                    let copy = TemporaryFolder()
                    let status = try? Child.run(
                        "/bin/cp", [folder.path + "/data.mdb", copy.path + "/data.mdb"]
                    ).1
                    #expect(status == .exited(0))
                    copies.withLock { $0.append(copy) }
                }
            }
            try expectWhole(store, "in small steps")
        }
        let all = copies.withLock { $0 }
        // Before the first, behind the first, and behind each of ten.
        #expect(all.count == 12)
        for (index, copy) in all.enumerated() {
            do {
                // Reading works at each, without what is not there yet.
                let reader = try BlobStore.openReadOnly(at: copy.path)
                #expect(reader.hasFeeds == (index == 11), "step \(index)")
                try expectPayloads(reader, "read behind step \(index)")
                let report = try reader.verify()
                #expect(report.problems == [], "read behind step \(index)")
            }
            let looked = Mutex(0)
            let store = try copy.open { options in
                options.upgradeStepCountMax = 4
                options.onUpgrade = { progress in
                    looked.withLock { $0 = progress.notifications }
                }
            }
            try expectWhole(store, "step \(index)")
            // What was done is not done again.
            let left = index == 0 ? 39 : max(0, 39 - 4 * (index - 1))
            #expect(looked.withLock { $0 } == left, "step \(index)")
        }
    }

    @Test("Killed at any moment that it speaks of, it is finished by the next opening")
    func killed() throws {
        for count in 0..<3 {
            let folder = try Self.folder()
            let (lines, status) = try Child.run(
                Child.torturer, ["upgrade", folder.path, "\(count)"])
            #expect(status == .killed(signal: SIGKILL), "\(lines)")
            #expect(lines.count == count + 1)
            let store = try folder.open()
            try expectWhole(store, "killed at \(count)")
        }
    }

    @Test("Opened for reading only it is read as it is, and says why it has no feeds")
    func readOnly() throws {
        let folder = try Self.folder()
        let before = try Files.read(folder.path + "/data.mdb")
        do {
            let store = try BlobStore.openReadOnly(at: folder.path)
            #expect(!store.hasFeeds)
            try expectPayloads(store, "read only")
            let report = try store.verify()
            #expect(report.problems == [])
            let questions: [() throws -> Void] = [
                { _ = try store.changes(of: "user-1", from: .beginning) },
                { _ = try store.history(of: "user-1", asOf: noon) },
                { _ = try store.category("news") }, { _ = try store.categories() },
            ]
            for question in questions {
                let error = try failure(question)
                #expect(error.openReason?.contains("format version 1 keeps no feeds") == true)
            }
        }
        let after = try Files.read(folder.path + "/data.mdb")
        #expect(after == before)
    }

    @Test("Without room it stays what it was, and says that it is full")
    func full() throws {
        let folder = try Self.folder()
        let byteCount = try Files.byteCount(folder.path + "/data.mdb")
        let error = try failure {
            _ = try folder.open { $0.mapByteCountMax = max(4 << 20, byteCount) }
        }
        #expect(error.isFull, "\(error)")
        let store = try folder.open()
        try expectWhole(store, "with room")
    }

    /// What `version-2.mdb` keeps under `n-number`; its text says how the bytes are made.
    private static func bytes(_ number: Int) -> [UInt8] {
        let count = [0, 1, 65_516, 65_517, 131_100][number]
        return (0..<count).map {
            UInt8(truncatingIfNeeded: $0 * 131 + number * 7 + ($0 >> 8) * 3)
        }
    }

    private func expectVersion2(_ store: BlobStore, _ name: String) throws {
        for number in 2...4 {
            let bytes = Self.bytes(number)
            let whole = try store.ownedPayload(for: "n-\(number)", asOf: noon)
            #expect(whole == bytes, "\(name): n-\(number)")
            let range = bytes.count - 70..<bytes.count - 1
            let end = try store.ownedPayload(for: "n-\(number)", asOf: noon, range: range)
            #expect(end == Array(bytes[range]), "\(name): n-\(number)")
        }
        let report = try store.verify()
        #expect(report.problems == [], "\(name)")
        let history = try store.history(of: "user", asOf: noon)
        #expect(history.records.map(\.id) == ["n-5", "n-4", "n-3", "n-2"], "\(name)")
    }

    @Test("A store of version 2 keeps its blobs as they are cut, and cuts new ones another way")
    func version2() throws {
        let folder = TemporaryFolder()
        let fixture = Self.fixture.replacing("version-1", with: "version-2")
        try Files.write(try Files.read(fixture), to: folder.path + "/data.mdb")
        try expectVersion2(try BlobStore.openReadOnly(at: folder.path), "read only")
        do {
            let said = Mutex<[UpgradeProgress]>([])
            let store = try folder.open {
                $0.onUpgrade = { progress in said.withLock { $0.append(progress) } }
            }
            #expect(said.withLock { $0.map(\.version) } == [2, 2, 2])
            #expect(said.withLock { $0.map(\.isDone) } == [false, false, true])
            try expectVersion2(store, "upgraded")
        }
        let store = try folder.open { options in
            options.onUpgrade = { _ in Issue.record("it was upgraded before") }
        }
        let old = try #require(try store.record(for: "n-4", asOf: noon)).parts[0].blob
        #expect(old.layout == .shortLast)
        #expect(old.chunkCount == 3)
        // The same bytes again: the blob that is there.
        let again = try store.put("again", Self.bytes(4)).parts[0].blob
        #expect(again == old)
        var other = Self.bytes(4)
        other[0] ^= 1
        let new = try store.put("new", other).parts[0].blob
        #expect(new.layout == .shortFirst)
        let read = try store.ownedPayload(for: "new", asOf: noon)
        #expect(read == other)
        for id in ["n-4", "again", "new"] { try store.delete(id, asOf: noon) }
        try store.freeAll()
        let report = try store.verify()
        #expect(report.problems == [])
        let bytes = try store.statistics().bytes
        #expect(bytes == UInt64(65_516 + 65_517))
    }

    /// The files are the same but for their format record: what is new is the log beside them, which
    /// a program of version 3 would not do again.
    @Test("A store of version 3 keeps all it has, and may have a log from then on")
    func version3() throws {
        let folder = TemporaryFolder()
        let fixture = Self.fixture.replacing("version-1", with: "version-3")
        try Files.write(try Files.read(fixture), to: folder.path + "/data.mdb")
        func expectWhole(_ store: BlobStore, _ name: String) throws {
            #expect(store.hasFeeds, "\(name)")
            let report = try store.verify()
            #expect(report.problems == [], "\(name)")
            for (number, count) in [(2, 65_472), (3, 65_473), (4, 131_100)] {
                let bytes = (0..<count).map {
                    UInt8(truncatingIfNeeded: $0 * 131 + number * 7 + ($0 >> 8) * 3)
                }
                let read = try store.ownedPayload(for: "n-\(number)", asOf: noon)
                #expect(read == bytes, "\(name): n-\(number)")
            }
            let history = try store.history(of: "user", asOf: noon)
            #expect(history.records.map(\.id) == ["n-5", "n-4", "n-3", "n-2"], "\(name)")
            #expect(history.records.map(\.details.isRead) == [true, false, false, true], "\(name)")
            let feed = try store.changes(of: "user", from: .beginning)
            #expect(feed.changes.map(\.id) == ["n-3", "n-4", "n-2", "n-5"], "\(name)")
            #expect(feed.changes.map(\.revision) == [3, 4, 6, 7], "\(name)")
            let last = try #require(try store.record(for: "n-5", asOf: noon))
            #expect(last.message == "Five" && last.details.group == "g", "\(name)")
            #expect(last.details.responses.map(\.key) == ["k"], "\(name)")
            let categories = try store.categories()
            #expect(categories.map(\.name) == ["mail"], "\(name)")
            #expect(categories[0].actions.map(\.identifier) == ["yes"], "\(name)")
            let counters = try store.counters()
            #expect(counters.revision == 8 && counters.tombstones == 1, "\(name)")
        }
        try expectWhole(try BlobStore.openReadOnly(at: folder.path), "read only")
        do {
            let said = Mutex<[UpgradeProgress]>([])
            let store = try folder.open {
                $0.onUpgrade = { progress in said.withLock { $0.append(progress) } }
            }
            #expect(said.withLock { $0.first?.version } == 3)
            #expect(said.withLock { $0.last?.isDone } == true)
            try expectWhole(store, "upgraded")
            try store.beginLogging()
            try store.delete("n-2", asOf: noon)
            #expect(store.unsettledChanges.isPending)
        }
        let store = try folder.open { options in
            options.onUpgrade = { _ in Issue.record("it was upgraded before") }
        }
        let found = [try store.lookUp("n-2"), try store.lookUp("n-3")]
        #expect(found == [.missing, .found])
        let report = try store.verify()
        #expect(report.problems == [])
    }
}
