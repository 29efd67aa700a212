import Glibc
import LMDB
import TestSupport
import Testing

@Suite(.serialized) struct EnvironmentTests {
    private let folder = TemporaryFolder()

    @Test("A second opening in the process is refused, whatever the folder is called")
    func secondOpening() throws {
        let first = try folder.open()
        for path in [folder.path, folder.path + "/", folder.path + "/../" + last(folder.path)] {
            do {
                _ = try Environment(
                    directory: path,
                    mapByteCount: 1 << 20, readerCountMax: 2, tableCountMax: 1,
                    isReadOnly: true)
                Issue.record("opened twice")
            } catch {
                #expect(error.systemError == EBUSY)
            }
        }
        withExtendedLifetime(first) {}
    }

    @Test("A folder can be opened again after it was closed, and after an opening that failed")
    func reopening() throws {
        do { _ = try folder.open() }
        do {
            // No file may be that large.
            _ = try folder.open(mapByteCount: 1 << 60)
            Issue.record("mapped 2^60 bytes")
        } catch {
            #expect(error.systemError == ENOMEM)
        }
        let environment = try folder.open()
        #expect(environment.pageByteCount == 4_096)
        #expect(environment.usedByteCount >= 8_192)
    }

    @Test("A folder that is not there is an error")
    func missingFolder() {
        #expect(throws: LMDBError(code: ENOENT, call: "stat")) {
            _ = try Environment(
                directory: "/nonexistent/folder",
                mapByteCount: 1 << 20, readerCountMax: 2, tableCountMax: 1)
        }
    }

    @Test(
        "Every descriptor of data.mdb is closed when another program is started, also with a number above 1,024"
    )
    func closeOnExec() throws {
        var blockers: [Int32] = []
        defer { for descriptor in blockers { close(descriptor) } }
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        // The other tests of the process need some, too.
        for count in limit.rlim_cur > 2_048 ? [0, 1_100] : [0] {
            while blockers.count < count {
                blockers.append(Glibc.open("/dev/null", O_RDONLY | O_CLOEXEC))
            }
            let environment = try folder.open()
            var data = stat()
            fstat(environment.dataDescriptor, &data)
            var found = 0
            for descriptor in 0..<Int32(4_096) {
                var status = stat()
                guard fstat(descriptor, &status) == 0, status.st_ino == data.st_ino,
                    status.st_dev == data.st_dev
                else { continue }
                found += 1
                #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0, "descriptor \(descriptor)")
            }
            // One for pages, one for synced meta pages, and the witness of syncs.
            #expect(found == 3)
        }
    }

    @Test("A table that is not there is not found; one that is has its pages counted")
    func tables() throws {
        let environment = try folder.open()
        do {
            _ = try environment.openTables(["nothing"])
            Issue.record("found a table that is not there")
        } catch {
            #expect(error.isNotFound)
        }
        let table = try environment.makeTable()
        try environment.set("a", [UInt8](repeating: 1, count: 10_000), in: table)
        let view = try environment.beginRead()
        let (entryCount, pageCount, bookkeeping) = (
            try view.entryCount(of: table), try view.pageCount(of: [table]),
            try view.pageCount(of: [])
        )
        #expect(entryCount == 1)
        // A leaf, and three pages for the value.
        #expect(pageCount == bookkeeping + 4)
        #expect(bookkeeping >= 1)
    }

    private func last(_ path: String) -> Substring { path.split(separator: "/").last ?? "" }
}
