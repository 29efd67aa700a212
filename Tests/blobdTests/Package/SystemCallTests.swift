import TestSupport
import Testing

/// The reader of traces that `blobd-torture syncs` judges by.
@Suite struct SystemCallTests {
    /// A sync that another thread's event cut in two was not found: its text began with `9 ` instead
    /// of `9)`. So the scenario said of a right order that the log was not synced.
    @Test func aCutCallReadsLikeAnUncutOne() throws {
        let calls = SystemCall.read(
            """
            52 1795370176.911640 write(15, "\\1\\0"..., 8) = 8 <0.000012>
            59 1795370176.912001 pwrite64(11, "blobdlog"..., 4096, 0 <unfinished ...>
            60 1795370176.912010 openat(AT_FDCWD, "/etc/localtime", O_RDONLY) = 24 <0.000002>
            59 1795370176.912344 <... pwrite64 resumed>) = 4096 <0.000343>
            59 1795370176.912370 fdatasync(9 <unfinished ...>
            60 1795370176.912496 openat(AT_FDCWD, "/data/data.mdb", O_RDONLY|O_DIRECT <unfinished ...>
            59 1795370176.912513 <... fdatasync resumed>) = 0 <0.000135>
            64 1795370176.912731 sendto(23, "\\262\\3"..., 102, MSG_DONTWAIT, NULL, 0) = 102 <0.000063>
            60 1795370176.912969 <... openat resumed>) = 21 <0.000458>
            62 1795370176.912980 fdatasync(7 <unfinished ...>
            62 1795370177.179479 +++ exited with 0 +++

            """)
        #expect(
            calls.map(\.name) == ["write", "pwrite64", "openat", "fdatasync", "openat", "sendto"])
        #expect(calls.map(\.lines) == [0...0, 1...3, 2...2, 4...6, 5...8, 7...7])
        #expect(calls.map(\.result) == [8, 4096, 24, 0, 21, 102])
        #expect(calls[3].text == "9) = 0 <0.000135>")
        #expect(calls[1].text.hasPrefix("11, \"blobdlog\"..., 4096, 0) = 4096"))
        #expect(calls[3].precedes(calls[5]))
        // It began before the answer and ended behind it.
        #expect(!calls[4].precedes(calls[5]))
        #expect(!calls[5].precedes(calls[4]))
    }

    /// A clock that is set back between two lines changes no order.
    @Test func theLinesTellTheOrder() {
        let calls = SystemCall.read(
            """
            59 1795370176.912370 fdatasync(9) = 0 <0.000135>
            64 1795370176.912001 sendto(23, "\\262\\3"..., 102, MSG_DONTWAIT, NULL, 0) = 102 <0.000063>

            """)
        #expect(calls.map(\.name) == ["fdatasync", "sendto"])
        #expect(calls[0].precedes(calls[1]))
    }
}
