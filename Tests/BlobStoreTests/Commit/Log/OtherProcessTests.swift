import Glibc
import TestSupport
import Testing

@testable import BlobStore

/// Another process that reads a store while changes are acknowledged that are in the log alone.
@Suite struct OtherProcessTests {
    private let folder = TemporaryFolder()

    @Test("Who opens it waits for a commit once, and then reads what was last committed")
    func waiting() throws {
        let store = try folder.openLogging()
        try store.put("a", Array("one".utf8))
        #expect(store.pendingChanges.isPending)
        let child = try Child(Child.torturer, ["beside", folder.path])
        // It asks, and does not go on before the commit.
        while store.pendingCounts.commitRequestCount == 0 { usleep(100) }
        #expect(!child.hasOutput(milliseconds: 20))
        try store.commitPending()
        #expect(child.readLine() == "opened")
        try store.put("a", Array("two".utf8))
        for (expected, isCommitting) in [("found one", true), ("found two", false)] {
            child.writeLine("get a")
            #expect(child.readLine() == expected)
            if isCommitting { try store.commitPending() }
        }
    }

    /// A store whose writer was killed with `count` batches in its log.
    private static func abandoned(_ folder: TemporaryFolder, count: Int) throws {
        do {
            let store = try folder.open()
            try store.put("shared", Array("before".utf8))
            try store.put("other", Array("before".utf8))
        }
        let writer = try Child(Child.torturer, ["abandon", folder.path, "\(count)"])
        while let line = writer.readLine(), line != "waiting" {}
        writer.kill()
        #expect(writer.wait() == .killed(signal: 9))
    }

    @Test(
        "A store whose writer died with something in its log is refused, with words",
        arguments: ["killed", "marks cleared", "marks lost"])
    func deadWriter(how: String) throws {
        try Self.abandoned(folder, count: 2)
        let marks = folder.path + "/changes.pending"
        switch how {
        case "killed": break
        case "marks cleared":
            let count = try Files.byteCount(marks)
            try Files.write([UInt8](repeating: 0, count: count), to: marks)
        default: Files.remove(marks)
        }
        let error = try failure { _ = try BlobStore.openReadOnly(at: folder.path) }
        #expect(error.openReason?.contains("changes.log has changes") == true, "\(error)")
        #expect(error.openReason?.contains("open the store once for writing") == true, "\(error)")
        do {
            var options = BlobStore.Options()
            options.ignoresLog = true
            let store = try BlobStore.openReadOnly(at: folder.path, options: options)
            #expect(try store.ownedPayload(for: "shared", asOf: noon) == Array("before".utf8))
            #expect(try store.counters().notifications == 2)
        }
        do {
            let store = try folder.open()
            #expect(store.pendingCounts.isEmpty)
            #expect(try store.ownedPayload(for: "shared", asOf: noon) == Array("1".utf8))
        }
        let store = try BlobStore.openReadOnly(at: folder.path)
        #expect(try store.counters().notifications == 6)
    }

    @Test("Marks that an earlier writer left stay until what it acknowledged is committed")
    func marksStay() throws {
        let store = try folder.openLogging()
        try store.put("a", [1])
        let copy = try folder.copy(withMarks: true)
        let marks = try PendingCounts(copy.path, isWriter: false)
        defer { marks.unmap() }
        let count = marks.commitCount
        #expect(!marks.isEmpty)
        let again = try copy.open()
        #expect(marks.isEmpty && marks.commitCount > count)
        #expect(try again.lookUp("a") == .found)
    }

    @Test("Marks that say more than the log, as after a power cut, are found out")
    func staleMarks() throws {
        let copy: TemporaryFolder
        do {
            let store = try folder.openLogging()
            try store.put("a", [1])
            copy = try folder.copy(withMarks: true)
            try store.commitPending()
            // What is committed, and the marks of before.
            let status = try Child.run(
                "/bin/cp", ["\(folder.path)/data.mdb", "\(copy.path)/data.mdb"]
            ).1
            #expect(status == .exited(0))
        }
        let store = try BlobStore.openReadOnly(at: copy.path)
        #expect(!store.pendingCounts.isEmpty)
        #expect(try store.counters().notifications == 1)
        #expect(try store.ownedPayload(for: "a", asOf: noon) == [1])
    }

    @Test("Marks that another process has cleared do not keep the log from beginning again")
    func spoiltMarks() throws {
        let store = try folder.openLogging()
        let marks = folder.path + "/changes.pending"
        for number in 0..<3 {
            try store.put("a\(number)", [1])
            try Files.overwrite([UInt8](repeating: 0, count: 48), at: 0, in: marks)
            try store.commitPending()
            #expect(store.pendingChanges.byteCount == 0)
            try store.put("b\(number)", [1])
            let copied = try folder.withCopy { try $0.counters().notifications }
            #expect(copied == UInt64(2 * number + 2))
        }
    }
}
