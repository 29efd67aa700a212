import Glibc
import LMDB
import TestSupport
import Testing

@testable import BlobStore

@Suite struct OpeningTests {
    private let folder = TemporaryFolder()

    /// The bytes of a small store.
    private static func sample() throws -> [UInt8] {
        let folder = TemporaryFolder()
        do {
            let store = try folder.open()
            try store.put("a", [UInt8](repeating: 1, count: 100_000))
        }
        return try Files.read(folder.path + "/data.mdb")
    }

    /// Both ways to open refuse `data` for a reason with these words, and leave it as it is.
    private func expectRefused(_ data: [UInt8], _ words: String, _ name: String = "") throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/data.mdb"
        try Files.write(data, to: path)
        for isReadOnly in [false, true] {
            let error = try failure {
                _ = isReadOnly ? try BlobStore.openReadOnly(at: folder.path) : try folder.open()
            }
            let reason = try #require(error.openReason, "\(name): \(error)")
            #expect(reason.contains(words), "\(name): \(reason)")
            #expect(try Files.read(path) == data, "\(name)")
        }
    }

    @Test("A file that was cut short is refused, at whatever length")
    func cutShort() throws {
        let whole = try Self.sample()
        let used = try usedByteCount(whole)
        #expect(used > 100_000)
        #expect(whole.count >= used)
        // Room behind the last page may go.
        try Files.write(Array(whole[..<used]), to: folder.path + "/data.mdb")
        do {
            let store = try folder.open()
            #expect(try store.lookUp("a") == .found)
        }
        for length in [0, 1, 151, 152, 4_095, 4_096, 4_096 + 151] {
            let words = length < 152 ? "is not an LMDB file" : "damaged second meta page"
            try expectRefused(Array(whole[..<length]), words, "\(length) bytes")
        }
        for length in [8_191, 8_192, 12_288, used / 2, used - 4_096, used - 1] {
            try expectRefused(Array(whole[..<length]), "is truncated", "\(length) bytes")
        }
    }

    @Test("A file of zeros, of text or of noise is refused")
    func otherFiles() throws {
        var generator = SeededGenerator(seed: 51)
        try expectRefused([UInt8](repeating: 0, count: 200_000), "is not an LMDB file", "zeros")
        try expectRefused(Array("hello, world\n".utf8), "is not an LMDB file", "text")
        try expectRefused(generator.bytes(50_000), "is not an LMDB file", "noise")
        var zeroFilled = try Self.sample()
        zeroFilled.replaceSubrange(0..<8_192, with: repeatElement(0, count: 8_192))
        try expectRefused(zeroFilled, "is not an LMDB file", "meta pages of zeros")
    }

    @Test("Another program's LMDB file is refused, with and without tables")
    func foreign() throws {
        for table: StaticString in ["other", "meta"] {
            let folder = TemporaryFolder()
            do {
                let environment = try Environment(
                    directory: folder.path,
                    mapByteCount: 1 << 20, readerCountMax: 4, tableCountMax: 4)
                var transaction = try environment.beginWrite()
                let opened = try transaction.openTable(table, creating: true)
                try transaction.put([1].span.bytes, forKey: [2].span.bytes, in: opened)
                try transaction.commit()
            }
            let data = try Files.read(folder.path + "/data.mdb")
            let words =
                "\(table)" == "meta" ? "no valid format record" : "another program's LMDB file"
            try expectRefused(data, words, "\(table)")
        }
    }

    @Test("A store of another format version is refused, and left as it is", arguments: [0, 4, 5])
    func otherFormat(version: UInt32) throws {
        var format = FormatRecord(
            storeID: StoreID(high: 1, low: 2), createdAt: Timestamp(milliseconds: 3))
        format.version = version
        do { _ = try folder.open().put("a", [1]) }
        // A later version may have a longer record, and is named all the same.
        try change(folder, "format", to: format.value + (version > 1 ? [1, 2, 3] : []))
        let data = try Files.read(folder.path + "/data.mdb")
        for isReadOnly in [false, true] {
            let error = try failure {
                _ =
                    isReadOnly
                    ? try BlobStore.openReadOnly(at: folder.path) : try folder.open()
            }
            #expect(
                error.openReason
                    == "data.mdb has format version \(version), but this program opens only versions 1 to 3; use the program that created it, or start with an empty directory"
            )
        }
        #expect(try Files.read(folder.path + "/data.mdb") == data)
    }

    @Test("A format record that is damaged or missing is refused")
    func damagedFormat() throws {
        for value in [Golden.format.flipping(bit: 100), [], Array("blobdfmt".utf8)] {
            let folder = TemporaryFolder()
            do { _ = try folder.open() }
            try change(folder, "format", to: value)
            let error = try failure { _ = try folder.open() }
            #expect(error.openReason?.contains("no valid format record") == true)
        }
    }

    @Test("A folder where a file should be, and a file where a folder should be, are refused")
    func wrongKinds() throws {
        mkdir(folder.path + "/data.mdb", 0o755)
        let error = try failure { _ = try folder.open() }
        #expect(error.openReason?.contains("is not a regular file") == true, "\(error)")
        #expect(Files.names(in: folder.path + "/data.mdb") == [])
        rmdir(folder.path + "/data.mdb")

        let file = folder.path + "/data"
        try Files.write([1, 2, 3], to: file)
        let second = try failure { _ = try BlobStore.open(at: file) }
        #expect(second.openReason?.contains("it is not a directory") == true, "\(second)")
        #expect(try Files.read(file) == [1, 2, 3])
        let third = try failure { _ = try BlobStore.openReadOnly(at: file) }
        #expect(third.openReason != nil)
        let fourth = try failure { _ = try BlobStore.open(at: folder.path + "/no/such") }
        #expect(fourth.openReason?.contains("No such file or directory") == true, "\(fourth)")
        Files.remove(file)
        let fifth = try failure { _ = try BlobStore.openReadOnly(at: folder.path) }
        #expect(fifth.openReason?.contains("it has no data.mdb") == true, "\(fifth)")
    }

    // A folder that may not be entered was said to have no store.
    @Test("A folder in which a file cannot be looked for is not said to lack it")
    func unknown() throws {
        let loop = folder.path + "/loop"
        symlink("loop", loop)
        let error = try failure { _ = try BlobStore.openReadOnly(at: loop) }
        #expect(error.openReason == systemMessage(ELOOP))
    }

    @Test("A second opening in the process is refused, in every combination, and the first goes on")
    func secondInProcess() throws {
        for (first, second) in [(false, false), (false, true), (true, false), (true, true)] {
            let folder = TemporaryFolder()
            do { _ = try folder.open().put("a", [1]) }
            func open(_ isReadOnly: Bool) throws -> BlobStore {
                isReadOnly ? try BlobStore.openReadOnly(at: folder.path) : try folder.open()
            }
            let store = try open(first)
            let error = try failure { _ = try open(second) }
            #expect(error.openReason == "this process has already opened it")
            #expect(try store.lookUp("a") == .found)
        }
    }

    /// The record locks of liblmdb's `lock.mdb`, which said that the process lives, were dropped by a second opening.
    /// The next writer then took over its slots, and used pages again that it was reading.
    @Test("A refused second opening does not cost the first its place among the readers")
    func readerSurvives() throws {
        let bytes = [UInt8](repeating: 1, count: 200_000)
        do { _ = try folder.open().put("0", bytes) }
        let store = try BlobStore.openReadOnly(at: folder.path)
        let old = try store.makeSnapshot()
        _ = try failure { _ = try folder.open() }
        // Another process replaces, deletes and frees, twice.
        for _ in 0..<2 {
            let (lines, _) = try Child.run(Child.torturer, ["publish", folder.path, "20", "90000"])
            #expect(lines.contains("ok delete 0"))
        }
        let id = Array("0".utf8)
        var read: [UInt8]?
        if case .found(let payload) = try old.payload(
            for: id.span.bytes, part: RawSpan(), asOf: noon)
        {
            read = try payload.ownedBytes()
        }
        #expect(read == bytes)
    }

    @Test("A second writer in another process is refused while the first lives, and not afterwards")
    func secondProcess() throws {
        let child = try Child(Child.torturer, ["hold", folder.path])
        #expect(child.readLine() == "opened")
        let error = try failure { _ = try folder.open() }
        #expect(
            error.openReason == "another process uses it and holds blobd.lock",
            "\(error)")
        // Reading beside it is allowed, and sees what there is.
        do {
            let reader = try BlobStore.openReadOnly(at: folder.path)
            let found = try reader.lookUp("a")
            #expect(found == .missing)
        }
        child.kill()
        child.wait()
        let store = try folder.open()
        try store.put("a", [1])
    }

    /// A thread that starts a child has all descriptors twice until the child executes its program.
    /// A store that was closed in this moment could not be opened again until then.
    @Test("A second descriptor of the lock, such as a child's, does not hold it")
    func lockInChild() throws {
        var second: Int32 = -1
        do {
            let store = try folder.open()
            try store.put("a", [1])
            var lock = stat()
            #expect(stat(folder.path + "/blobd.lock", &lock) == 0)
            // A process that runs many tests at once has descriptors of any number.
            for number in Files.names(in: "/proc/self/fd").compactMap(Int32.init) {
                var status = stat()
                guard fstat(number, &status) == 0, status.st_ino == lock.st_ino,
                    status.st_dev == lock.st_dev
                else { continue }
                second = dup(number)
                #expect(second >= 0, "dup(\(number)): \(errno)")
                break
            }
        }
        try #require(second >= 0)
        defer { close(second) }
        let again = try folder.open()
        #expect(try again.ownedPayload(for: "a", asOf: noon) == [1])
    }

    @Test(
        "Someone who may only read data.mdb reads it",
        .enabled(if: getuid() == 0, "only root can become somebody else"))
    func readWithoutLock() throws {
        do { _ = try folder.open().put("a", [1]) }
        chmod(folder.path, 0o755)
        chmod(folder.path + "/data.mdb", 0o644)
        chmod(folder.path + "/changes.pending", 0o644)
        let nobody = "65534"
        let (allowed, status) = try Child.run(Child.torturer, ["read", folder.path, "a", nobody])
        try #require(status != .exited(3), "\(allowed)")
        #expect(allowed == ["found 1"])
        chmod(folder.path + "/data.mdb", 0o600)
        let (unreadable, _) = try Child.run(Child.torturer, ["read", folder.path, "a", nobody])
        #expect(unreadable.first?.contains("Permission denied") == true, "\(unreadable)")
        // Nobody may not write there, either.
        let (writing, _) = try Child.run(Child.torturer, ["open", folder.path, nobody])
        #expect(writing.first?.contains("Permission denied") == true, "\(writing)")
    }

    /// `MDB_MAP_RESIZED` was said to be damage.
    @Test("A reader that maps less than the writer sees what is written later")
    func smallerMap() throws {
        do { _ = try folder.open().put("a", [1]) }
        var options = BlobStore.Options()
        options.mapByteCountMax = 4 << 20
        let store = try BlobStore.openReadOnly(at: folder.path, options: options)
        // More than 5 MB.
        let (lines, _) = try Child.run(Child.torturer, ["publish", folder.path, "60", "90000"])
        #expect(lines.contains("ok publish 59"), "\(lines.suffix(2))")
        #expect(try store.lookUp("a") == .found)
        #expect(try Files.byteCount(folder.path + "/data.mdb") > 4 << 20)
    }

    @Test("A store that cannot be mapped names the limit, its setting and what to do")
    func addressSpace() throws {
        do { _ = try folder.open().put("a", [1]) }
        let (lines, _) = try Child.run(
            "/bin/sh",
            ["-c", "ulimit -v 1000000; exec \"$0\" open \"$1\"", Child.torturer, folder.path])
        let words = "\(lines.first ?? "")"
        for expected in ["Cannot allocate memory", "map-size", "1024000000 bytes (ulimit -v)"] {
            #expect(words.contains(expected), "\(lines)")
        }
    }

    @Test("A file system that says it has no blocks says nothing of its room")
    func unknownDisk() throws {
        var status = statvfs()
        #expect(Disk(status) == nil)
        status.f_blocks = 2
        status.f_bavail = 1
        status.f_frsize = 4_096
        let disk = try #require(Disk(status))
        #expect(disk.byteCount == 8_192 && disk.availableByteCount == 4_096)
    }

    @Test("What an unfinished creation left is removed, and nothing else")
    func leftovers() throws {
        let staging = folder.path + "/store.new"
        mkdir(staging, 0o755)
        try Files.write([1, 2, 3], to: staging + "/data.mdb")
        try Files.write([1, 2, 3], to: staging + "/lock.mdb")
        do { _ = try folder.open().put("a", [1]) }
        #expect(
            Files.names(in: folder.path) == ["blobd.lock", "changes.pending", "data.mdb"])
        // Beside a whole store, too.
        mkdir(staging, 0o755)
        try Files.write([1, 2, 3], to: staging + "/data.mdb")
        let store = try folder.open()
        #expect(try store.lookUp("a") == .found)
        #expect(!Files.exists(staging))
    }

    @Test("Options that no store can have are refused before anything is made")
    func options() throws {
        let changes: [(String, (inout BlobStore.Options) -> Void)] = [
            ("readerCountMax", { $0.readerCountMax = 0 }),
            ("readerCountMax", { $0.readerCountMax = -1 }),
            ("readerCountMax", { $0.readerCountMax = .max }),
            ("mapByteCountMax", { $0.mapByteCountMax = 0 }),
            ("mapByteCountMax", { $0.mapByteCountMax = .max }),
            ("payloadByteCountMax", { $0.payloadByteCountMax = -1 }),
            ("payloadByteCountMax", { $0.payloadByteCountMax = .max }),
        ]
        for (name, change) in changes {
            let error = try failure { _ = try folder.open(change) }
            #expect(error.openReason?.hasPrefix(name + " is ") == true, "\(error)")
        }
        #expect(Files.names(in: folder.path) == [])
    }

    /// Replaces a value of the table `meta` behind the store's back.
    private func change(_ folder: TemporaryFolder, _ name: String, to value: [UInt8]) throws {
        let environment = try Environment(
            directory: folder.path,
            mapByteCount: 1 << 30, readerCountMax: 4, tableCountMax: 32)
        let key = Array(name.utf8)
        var transaction = try environment.beginWrite()
        let meta = try transaction.openTable("meta", creating: false)
        try transaction.put(value.span.bytes, forKey: key.span.bytes, in: meta)
        try transaction.commit()
    }

    private func usedByteCount(_ data: [UInt8]) throws -> Int {
        let folder = TemporaryFolder()
        try Files.write(data, to: folder.path + "/data.mdb")
        return try DataFile(in: folder.path).usedByteCount
    }
}
