internal import CLMDB
internal import CLinux
internal import Glibc

/// Where in the file a long value is: in pages of its own (`P_OVERFLOW`), after their header.
package struct OverflowLocation: Equatable, Sendable {
    /// The number of its first page (`mp_pgno`).
    package let pageNumber: UInt64
    package let byteCount: Int

    /// Where its bytes begin in the file.
    ///
    /// - Returns: nil where that is not a place that a file has.
    package func offset(pageByteCount: Int) -> Int? {
        guard let page = Int(exactly: pageNumber) else { return nil }
        let (start, overflow) = page.multipliedReportingOverflow(by: pageByteCount)
        guard !overflow, start <= .max - PageLayout.headerByteCount else { return nil }
        return start + PageLayout.headerByteCount
    }
}

/// Long values of a write transaction that are written to their pages before it is committed. Those pages are
/// neither the last commit's nor any reader's, so they may as well be written earlier. Then the commit leaves them
/// out: they get the mark with which liblmdb leaves pages out of a write itself (`P_KEEP`).
@safe struct OverflowPages: ~Copyable {
    /// One value: liblmdb's memory for it, which begins with the header. It is good until the
    /// transaction ends or the value is deleted.
    @safe private struct Run {
        let memory: UnsafeMutableRawPointer
        let number: UInt64
        let pageCount: Int
        /// Where its last bytes are, of which the memory has none.
        let rest: ArraySlice<UInt8>
        /// Where in the memory they would begin.
        let restOffset: Int

        func set(_ flags: UInt16) {
            unsafe memory.storeBytes(
                of: flags, toByteOffset: PageLayout.flagsOffset, as: UInt16.self)
        }
    }

    private var runs: [Run] = []
    private let pageByteCount: Int
    private let descriptor: Int32
    private(set) var hasWritten = false

    init(_ environment: Environment) {
        pageByteCount = environment.pageByteCount
        descriptor = environment.dataDescriptor
    }

    /// Whether this liblmdb has the marks that this relies upon.
    static let isSupported: Bool = {
        var (major, minor): (Int32, Int32) = (0, 0)
        _ = unsafe mdb_version(&major, &minor, nil)
        return major == 0 && minor == 9
    }()

    /// Takes note of a value that was stored in this transaction, and fills its memory where it is not written from
    /// elsewhere: `first` is copied, `rest` is kept until it is written. Returns its place; nil where it has no new
    /// pages of its own, and nothing was done.
    mutating func add(
        _ value: MDB_val, _ first: RawSpan, _ rest: ArraySlice<UInt8>
    ) -> OverflowLocation? {
        guard Self.isSupported, unsafe value.mv_size >= pageByteCount,
            let bytes = unsafe value.mv_data
        else { return nil }
        precondition(unsafe value.mv_size == first.byteCount + rest.count)
        // A value of a page and more is in pages of its own, after the header of the first.
        let page = unsafe bytes - PageLayout.headerByteCount
        let flags = unsafe page.loadUnaligned(
            fromByteOffset: PageLayout.flagsOffset, as: UInt16.self)
        let number = unsafe page.loadUnaligned(as: UInt64.self)
        let count = unsafe page.loadUnaligned(
            fromByteOffset: PageLayout.pageCountOffset, as: UInt32.self)
        let needed =
            unsafe (PageLayout.headerByteCount + value.mv_size + pageByteCount - 1) / pageByteCount
        guard flags == PageLayout.overflow | PageLayout.dirty, Int(count) == needed, number > 1
        else {
            return nil
        }
        // Inside of the memory, by the precondition.
        unsafe first.withUnsafeBytes { first in
            unsafe UnsafeMutableRawBufferPointer(start: bytes, count: first.count)
                .copyMemory(from: first)
        }
        runs.append(
            unsafe Run(
                memory: page, number: number, pageCount: needed, rest: rest,
                restOffset: PageLayout.headerByteCount + first.byteCount))
        return unsafe OverflowLocation(pageNumber: number, byteCount: value.mv_size)
    }

    var isEmpty: Bool { runs.isEmpty }

    /// Whether a value is one of another transaction, or shares its page. If not, its memory may have
    /// only its first bytes, and its pages must not be used again.
    func isElsewhere(_ value: MDB_val) -> Bool {
        guard unsafe value.mv_size >= pageByteCount, let bytes = unsafe value.mv_data else {
            return true
        }
        let flags = unsafe (bytes - PageLayout.headerByteCount).loadUnaligned(
            fromByteOffset: PageLayout.flagsOffset, as: UInt16.self)
        return flags & PageLayout.dirty == 0
    }

    /// The most bytes that one `pwritev` writes. The kernel keeps what one call writes in few pieces of the page cache.
    /// Large pieces make fetches faster, but each is walked as a whole whenever some of it is written again.
    private static let writeByteCountMax = 1 << 20

    /// Writes those that were added to the file, in the order of their pages, neighbours together. Not synced.
    mutating func write() throws(LMDBError) {
        runs.sort { $0.number < $1.number }
        var first = 0
        while first < runs.count {
            var (end, pageCount) = (first, 0)
            repeat {
                pageCount += runs[end].pageCount
                end += 1
            } while end < runs.count
                && runs[end].number == runs[first].number + UInt64(pageCount)
                && (pageCount + runs[end].pageCount) * pageByteCount <= Self.writeByteCountMax
            try write(runs[first..<end], pageCount: pageCount)
            first = end
        }
        hasWritten = hasWritten || !runs.isEmpty
        runs.removeAll(keepingCapacity: true)
    }

    private func write(_ runs: ArraySlice<Run>, pageCount: Int) throws(LMDBError) {
        let start = offset(of: runs[runs.startIndex])
        // As the file has it: without the mark of a page that is yet to be written.
        for run in runs { run.set(PageLayout.overflow) }
        let byteCount = pageCount * pageByteCount
        var pieces = unsafe [iovec]()
        let written = unsafe withPieces(of: runs, &pieces) { pieces in
            unsafe pwritev(descriptor, pieces, Int32(pieces.count), off_t(start))
        }
        if written != byteCount {
            guard written >= 0 || errno == EINTR else {
                throw LMDBError(code: errno, call: "pwritev")
            }
            // A call may write less than all.
            for run in runs { try writeFromMemory(run) }
        }
        // The disk works on it while the next ones are written: an eighth more publishes of 16 KiB.
        clinux_begin_writeback(descriptor, Int64(start), Int64(byteCount))
        for run in runs { run.set(PageLayout.overflow | PageLayout.dirty | PageLayout.keep) }
    }

    /// Appends where the bytes of `runs` are, and calls `body` while they are good.
    private func withPieces(
        of runs: ArraySlice<Run>, _ pieces: inout [iovec], _ body: ([iovec]) -> Int
    ) -> Int {
        guard let run = runs.first else { return unsafe body(pieces) }
        return unsafe run.rest.withUnsafeBytes { rest in
            // liblmdb has filled the last page with zeros.
            let end = run.restOffset + rest.count
            unsafe pieces += [
                iovec(iov_base: run.memory, iov_len: run.restOffset),
                // It is only read.
                iovec(
                    iov_base: UnsafeMutableRawPointer(mutating: rest.baseAddress),
                    iov_len: rest.count),
                iovec(
                    iov_base: run.memory + end, iov_len: run.pageCount * pageByteCount - end),
            ]
            return unsafe withPieces(of: runs.dropFirst(), &pieces, body)
        }
    }

    private func offset(of run: Run) -> Int { Int(run.number) * pageByteCount }

    private func writeFromMemory(_ run: Run) throws(LMDBError) {
        unsafe run.rest.withUnsafeBytes { rest in
            unsafe UnsafeMutableRawBufferPointer(
                start: run.memory + run.restOffset, count: rest.count
            )
            .copyMemory(from: rest)
        }
        var written = 0
        let byteCount = run.pageCount * pageByteCount
        while written < byteCount {
            let count = unsafe pwrite(
                descriptor, run.memory + written, byteCount - written,
                off_t(offset(of: run) + written))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw LMDBError(code: count < 0 ? errno : EIO, call: "pwrite")
            }
            written += count
        }
    }
}
