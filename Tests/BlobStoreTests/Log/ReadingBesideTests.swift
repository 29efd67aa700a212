import Glibc
import Testing

@testable import BlobStore

/// Another process that reads while changes are acknowledged that are in the log alone.
@Suite struct ReadingBesideTests {
    /// The child's answer to a question, while this process settles whenever it is asked to hurry.
    private static func ask(_ child: Child, _ question: String, of store: BlobStore) throws
        -> String
    {
        var asked = store.unsettled.hurryCount
        child.writeLine(question)
        while !child.hasOutput(milliseconds: 1) {
            let count = store.unsettled.hurryCount
            if count != asked {
                asked = count
                try store.settle()
            }
        }
        return child.readLine() ?? "nothing more"
    }

    private static func put(_ id: String, _ text: String, in store: BlobStore) throws {
        _ = try store.apply(
            [.publish(try store.publication(id, Array(text.utf8), owner: "anna"))], asOf: noon)
    }

    @Test("It waits for what was acknowledged, and for nothing else")
    func waiting() throws {
        let folder = TemporaryFolder()
        let store = try folder.openLogging()
        try Self.put("a", "one", in: store)
        try Self.put("b", "one", in: store)
        try store.settle()
        let child = try Child(Child.torturer, ["beside", folder.path])
        #expect(child.readLine() == "opened")
        try Self.put("a", "two", in: store)
        // Nobody settles: it would wait in vain.
        for _ in 0..<3 {
            child.writeLine("get b")
            #expect(child.readLine() == "found one")
            child.writeLine("get none")
            #expect(child.readLine() == "missing")
        }
        #expect(store.unsettled.hurryCount == 0 && store.unsettledChanges.isPending)
        let answer = try Self.ask(child, "get a", of: store)
        #expect(answer == "found two")
        #expect(store.unsettled.hurryCount == 1 && !store.unsettledChanges.isPending)
        for question in ["revision", "owner anna", "record b"] {
            try Self.put("b", question, in: store)
            let answer = try Self.ask(child, question, of: store)
            let revision = try store.counters().revision
            let expected = [
                "revision": "\(revision) 2", "owner anna": "b \(revision)",
                "record b": "found \(question.count)",
            ]
            #expect(answer == expected[question])
            #expect(!store.unsettledChanges.isPending, "\(question)")
        }
    }

    @Test("Every acknowledged change is seen, in any order of changes, commits and questions")
    func random() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("reading beside: seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let folder = TemporaryFolder()
        let store = try folder.openLogging()
        let child = try Child(Child.torturer, ["beside", folder.path])
        #expect(child.readLine() == "opened")
        var model: [String: String] = [:]
        var (revision, waits) = (0, 0)
        for step in 0..<600 {
            let name: Comment = "seed \(seed), step \(step)"
            let id = "id-\(Int.random(in: 0..<12, using: &generator))"
            switch Int.random(in: 0..<10, using: &generator) {
            case 0..<5:
                try Self.put(id, "step \(step)", in: store)
                model[id] = "step \(step)"
                revision += 1
            case 5, 6:
                let isDeleted = try store.delete(id, asOf: noon)
                #expect(isDeleted == (model[id] != nil), name)
                if isDeleted { revision += 1 }
                model[id] = nil
            case 7: try store.settle()
            default: break
            }
            guard Int.random(in: 0..<3, using: &generator) > 0 else { continue }
            let wasPending = store.unsettledChanges.isPending
            let other = Bool.random(using: &generator) ? id : "id-3"
            if Int.random(in: 0..<8, using: &generator) == 0 {
                let answer = try Self.ask(child, "revision", of: store)
                #expect(answer == "\(revision) \(model.count)", name)
            } else {
                let answer = try Self.ask(child, "get \(other)", of: store)
                #expect(answer == model[other].map { "found \($0)" } ?? "missing", name)
            }
            if wasPending, !store.unsettledChanges.isPending { waits += 1 }
        }
        #expect(waits > 30, "seed \(seed)")
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
        let folder = TemporaryFolder()
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
        #expect(error.openReason?.contains("open it for writing once") == true, "\(error)")
        do {
            var options = BlobStore.Options()
            options.ignoresLog = true
            let store = try BlobStore.openReadOnly(at: folder.path, options: options)
            let shared = try store.ownedPayload(for: "shared", asOf: noon)
            #expect(shared == Array("before".utf8))
            let found1 = try store.counters().notifications
            #expect(found1 == 2)
        }
        do {
            let store = try folder.open()
            #expect(store.unsettled.isEmpty)
            let shared = try store.ownedPayload(for: "shared", asOf: noon)
            #expect(shared == Array("1".utf8))
        }
        let store = try BlobStore.openReadOnly(at: folder.path)
        let found2 = try store.counters().notifications
        #expect(found2 == 6)
    }

    @Test(
        "One that is open when the writer dies says that it waits in vain, and goes on when another starts"
    )
    func writerDies() throws {
        let folder = TemporaryFolder()
        do {
            let store = try folder.open()
            try store.put("other", Array("before".utf8))
        }
        let reader = try Child(Child.torturer, ["beside", folder.path])
        #expect(reader.readLine() == "opened")
        let writer = try Child(Child.torturer, ["abandon", folder.path, "2"])
        while let line = writer.readLine(), line != "waiting" {}
        writer.kill()
        _ = writer.wait()
        reader.writeLine("get other")
        #expect(reader.readLine() == "found before")
        reader.writeLine("get shared")
        #expect(
            reader.readLine()
                == "error the store's writer has not committed what it acknowledged; start it again"
        )
        // It asks, and waits; the next writer commits what there is before it lets it go on.
        reader.writeLine("get shared")
        #expect(!reader.hasOutput(milliseconds: 50))
        let store = try folder.open()
        #expect(reader.readLine() == "found 1")
        let found3 = try store.lookUp("shared")
        #expect(found3 == .found)
    }

    @Test("Marks that an earlier writer left stay until what it acknowledged is committed")
    func marksStay() throws {
        let folder = TemporaryFolder()
        let store = try folder.openLogging()
        try store.put("a", [1])
        let copy = try folder.copy(withMarks: true)
        let marks = try UnsettledKeys(copy.path, isWriter: true)
        defer { marks.unmap() }
        let count = marks.settleCount
        #expect(!marks.isEmpty && marks.mayContain(Array("a".utf8).span.bytes))
        let again = try copy.open()
        #expect(marks.isEmpty && marks.settleCount > count)
        let found4 = try again.lookUp("a")
        #expect(found4 == .found)
    }

    @Test("Marks that say more than the log, as after a power cut, are found out")
    func staleMarks() throws {
        let folder = TemporaryFolder()
        let copy: TemporaryFolder
        do {
            let store = try folder.openLogging()
            try store.put("a", [1])
            copy = try folder.copy(withMarks: true)
            try store.settle()
            // What is committed, and the marks of before.
            let status = try Child.run(
                "/bin/cp", ["\(folder.path)/data.mdb", "\(copy.path)/data.mdb"]
            ).1
            #expect(status == .exited(0))
        }
        let store = try BlobStore.openReadOnly(at: copy.path)
        #expect(!store.unsettled.isEmpty)
        let found5 = try store.counters().notifications
        #expect(found5 == 1)
        let found6 = try store.ownedPayload(for: "a", asOf: noon)
        #expect(found6 == [1])
    }

    /// The filter was once cleared before the count: who read in between asked a filter that was half empty.
    @Test("When marks are cleared the count goes first")
    func clearedInOrder() throws {
        let folder = TemporaryFolder()
        do { _ = try folder.open() }
        // It dies at a word in the middle of the filter.
        let writer = try Child(Child.torturer, ["clear", folder.path])
        while let line = writer.readLine(), line != "clearing" {}
        #expect(writer.wait() == .killed(signal: SIGSEGV))
        let marks = try Files.read(folder.path + "/changes.pending")
        let words = stride(from: 0, to: marks.count, by: 8).map { start in
            marks[start..<start + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        #expect(words[0] == 0)
        let isHalfEmpty = words[8..<512].allSatisfy { $0 == 0 }
        #expect(isHalfEmpty && words[512...].contains { $0 != 0 })
    }

    @Test("Marks that another process has cleared do not keep the log from beginning again")
    func spoiltMarks() throws {
        let folder = TemporaryFolder()
        let store = try folder.openLogging()
        let marks = try UnsettledKeys(folder.path, isWriter: false)
        defer { marks.unmap() }
        for number in 0..<3 {
            try store.put("a\(number)", [1])
            marks.clear()
            try store.settle()
            #expect(store.unsettledChanges.byteCount == 0)
            try store.put("b\(number)", [1])
            try folder.withCopy { copy in
                let counters = try copy.counters()
                #expect(counters.notifications == UInt64(2 * number + 2))
            }
        }
    }
}
