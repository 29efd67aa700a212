internal import Bytes
internal import CLMDB
internal import Glibc
internal import Synchronization

/// Which addresses have a page of `data.mdb` under them. liblmdb believes a value's size: one flipped bit makes a
/// value of 4 GiB, and reading past the end of the file is a signal. So what is borrowed is compared with these
/// bounds first.
///
/// The bound is the end of the last page in use (`me_last_pgno`), and at most the size of the file. It only grows,
/// so a value inside of the last known bound costs a comparison, and one outside asks again.
@safe struct MapBounds: @unchecked Sendable {
    // Sendable: the pointer never changes, and what changes behind it is atomic.
    private let state: UnsafeMutablePointer<State>

    @safe private struct State: ~Copyable {
        let environment: OpaquePointer
        let start: UInt
        let mapByteCount: UInt
        let pageByteCount: Int
        let isSearchable: Bool
        /// From ``start`` on, how many bytes are known to be pages in use.
        let known: Atomic<UInt>
    }

    /// - Parameter file: nil where the map cannot be found, as without `/proc`: nothing is refused
    ///   then.
    init(_ environment: OpaquePointer, file: MappedFile?, pageByteCount: Int) {
        unsafe state = .allocate(capacity: 1)
        var info = unsafe MDB_envinfo()
        _ = unsafe mdb_env_info(environment, &info)
        let mapByteCount = unsafe file == nil ? UInt.max : UInt(info.me_mapsize)
        unsafe state.initialize(
            to: State(
                environment: environment, start: file?.startAddress ?? 0,
                mapByteCount: mapByteCount, pageByteCount: pageByteCount,
                isSearchable: file?.hasKnownFormat(pageByteCount: pageByteCount) ?? false,
                known: Atomic(file == nil ? .max : 0)))
    }

    /// Frees the memory, when the environment is closed.
    @unsafe func free() {
        unsafe state.deinitialize(count: 1)
        unsafe state.deallocate()
    }

    /// The number of the page that an address of the map is in.
    func page(of address: UnsafeRawPointer) -> UInt {
        unsafe (UInt(bitPattern: address) &- state.pointee.start)
            / UInt(state.pointee.pageByteCount)
    }

    var pageByteCount: Int {
        @inline(__always)
        get { unsafe state.pointee.pageByteCount }
    }

    var isSearchable: Bool {
        @inline(__always)
        get { unsafe state.pointee.isSearchable }
    }

    /// Where a page of a read transaction begins; nil when not as many bytes from it on are in use.
    @inline(__always)
    func page(_ number: UInt64, atLeast byteCount: UInt) -> UnsafeRawPointer? {
        // Page numbers have 48 bits, and a page at most 64 KiB.
        guard number < 1 << 47 else { return nil }
        let offset = UInt(truncatingIfNeeded: number) &* UInt(pageByteCount)
        let known = unsafe state.pointee.known.load(ordering: .relaxed)
        guard offset <= known && byteCount <= known &- offset || holdNow(offset, byteCount) else {
            return nil
        }
        return unsafe UnsafeRawPointer(bitPattern: state.pointee.start &+ offset)
    }

    /// Whether all of `value` is inside of pages in use. For values of read transactions.
    @inline(__always)
    func hold(_ value: MDB_val) -> Bool {
        let offset = unsafe UInt(bitPattern: value.mv_data) &- state.pointee.start
        let known = unsafe state.pointee.known.load(ordering: .relaxed)
        // A size that comes from a page has 32 bits.
        let byteCount = unsafe UInt(bitPattern: value.mv_size)
        if offset <= known, byteCount <= known &- offset { return true }
        return holdNow(offset, byteCount)
    }

    /// After a look at what the file has now.
    @inline(never)
    private func holdNow(_ offset: UInt, _ byteCount: UInt) -> Bool {
        var info = unsafe MDB_envinfo()
        guard unsafe mdb_env_info(state.pointee.environment, &info) == MDB_SUCCESS else {
            return false
        }
        let (pages, overflow) = unsafe UInt(info.me_last_pgno).addingReportingOverflow(1)
        let (used, overflowed) = unsafe pages.multipliedReportingOverflow(
            by: UInt(state.pointee.pageByteCount))
        guard !overflow, !overflowed else { return false }
        let bound = unsafe min(used, fileByteCount, state.pointee.mapByteCount)
        unsafe state.pointee.known.max(bound, ordering: .relaxed)
        return offset <= bound && byteCount <= bound - offset
    }

    /// The size of `data.mdb`; 0 where that cannot be told.
    private var fileByteCount: UInt {
        var descriptor: Int32 = -1
        var status = stat()
        guard unsafe mdb_env_get_fd(state.pointee.environment, &descriptor) == MDB_SUCCESS,
            unsafe fstat(descriptor, &status) == 0
        else { return 0 }
        return UInt(clamping: status.st_size)
    }

    /// Whether a value that a write transaction has found is what its page can have. A page that the transaction
    /// has changed is in memory of liblmdb. It looks closer than ``hold(_:)``: a change that believes a damaged
    /// page frees pages that are in use.
    func holdInChange(_ value: MDB_val, _ kind: Kind) -> Bool {
        let page = unsafe state.pointee.pageByteCount
        let address = unsafe UInt(bitPattern: value.mv_data)
        let byteCount = unsafe value.mv_size
        // An empty one may stand at the end of its page, where the next begins.
        guard byteCount > 0, let start = unsafe value.mv_data else { return byteCount == 0 }
        // Without the map nothing is known of addresses.
        guard unsafe state.pointee.mapByteCount != .max else { return true }
        let offset = unsafe address &- state.pointee.start
        guard unsafe offset < state.pointee.mapByteCount else {
            // In memory. Whatever is longer than a page begins after a header that says how many
            // pages it has; what stands before any value is in its page.
            if byteCount <= page - PageLayout.headerByteCount { return true }
            return unsafe PageHeader(UnsafeRawPointer(start) - PageLayout.headerByteCount)
                .inMemory.isOverflow(of: byteCount, kind, pageByteCount: page)
        }
        guard unsafe hold(value) || holdInFile(offset, UInt(bitPattern: byteCount)) else {
            return false
        }
        let inPage = Int(offset % UInt(page))
        let number = UInt64(offset / UInt(page))
        let header = unsafe PageHeader(UnsafeRawPointer(start) - inPage)
        guard header.number == number else { return false }
        // After the header of a leaf stands no value but the places of its nodes.
        guard inPage == PageLayout.headerByteCount else {
            return header.isLeaf && inPage > PageLayout.headerByteCount
                && byteCount <= page - inPage
        }
        return header.isOverflow(of: byteCount, kind, pageByteCount: page)
    }

    enum Kind {
        /// A key, which is always in a leaf.
        case key
        /// A value that may have been put in place of a longer one in the same transaction, which
        /// leaves it all of that one's pages: as many as 64 KiB take.
        case value
        /// A value in a table in which nothing is replaced.
        case valueWrittenOnce

        /// How many pages more than it needs it may have.
        var excessMax: Int? {
            switch self {
            case .key: nil
            case .value: 17
            case .valueWrittenOnce: 0
            }
        }
    }

    /// Whether the entries of the leaf in which a found value is fill the end of it, as liblmdb puts them. True for
    /// what is not in the map: it was looked at when it was.
    func isOnSoundLeaf(_ value: UnsafeRawPointer?) -> Bool {
        guard let value = unsafe value, unsafe state.pointee.mapByteCount != .max else {
            return true
        }
        let page = unsafe state.pointee.pageByteCount
        let offset = unsafe UInt(bitPattern: value) &- state.pointee.start
        guard unsafe offset < state.pointee.mapByteCount else { return true }
        // Inside of the map, which begins at a page and has whole ones.
        let bytes = unsafe RawSpan(
            _unsafeStart: value - Int(offset % UInt(page)), byteCount: page)
        let flags: UInt16 = bytes.integer(PageLayout.flagsOffset)
        // A long value has pages of its own.
        guard flags & PageLayout.kinds == PageLayout.leaf else { return true }
        return (try? PageEntry.ranges(on: bytes, page: bytes.integer(0), isLeaf: true)) != nil
    }

    /// A transaction may have written pages after the last one in use, ahead of its commit.
    private func holdInFile(_ offset: UInt, _ byteCount: UInt) -> Bool {
        let bound = unsafe min(fileByteCount, state.pointee.mapByteCount)
        return offset <= bound && byteCount <= bound - offset
    }
}

/// The header of a page in memory.
@safe private struct PageHeader {
    let number: UInt64
    private var flags: UInt16
    private let pageCount: UInt32

    /// - Parameter page: where it begins; its header must be readable.
    @unsafe init(_ page: UnsafeRawPointer) {
        number = unsafe page.loadUnaligned(as: UInt64.self)
        flags = unsafe page.loadUnaligned(fromByteOffset: 10, as: UInt16.self)
        pageCount = unsafe page.loadUnaligned(fromByteOffset: 12, as: UInt32.self)
    }

    /// Without the flags that a page in memory may have. In the file they are damage: liblmdb would write to such a
    /// page in its map, which is read-only, or abort the process.
    var inMemory: PageHeader {
        var header = self
        header.flags &= PageLayout.kinds
        return header
    }

    var isLeaf: Bool { flags == PageLayout.leaf }

    /// Whether it is the first of the pages that so many bytes take.
    func isOverflow(of byteCount: Int, _ kind: MapBounds.Kind, pageByteCount: Int) -> Bool {
        let pages = (PageLayout.headerByteCount + byteCount + pageByteCount - 1) / pageByteCount
        guard flags == PageLayout.overflow, let excess = kind.excessMax else { return false }
        return (pages...pages + excess).contains(Int(pageCount))
    }
}
