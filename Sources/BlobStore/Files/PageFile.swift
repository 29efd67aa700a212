internal import Bytes
internal import Glibc
internal import LMDB

/// `data.mdb`, read page by page without liblmdb and without the map (`pread`): whatever the pages
/// say, reading them is no signal. ``PageLayout`` says how they are laid out.
struct PageFile {
    let descriptor: Int32
    let pageByteCount: Int

    /// A tree of pages (`MDB_db`).
    struct Tree: Equatable {
        let flags: UInt16
        let depth: Int
        let branchCount: UInt64
        let leafCount: UInt64
        let overflowCount: UInt64
        let entryCount: UInt64
        let root: UInt64

        /// Of a tree without pages.
        static let noRoot = UInt64.max

        /// - Parameter bytes: has ``PageLayout/tableByteCount`` bytes.
        init(_ bytes: RawSpan) {
            flags = bytes.integer(4)
            depth = Int(bytes.integer(6, as: UInt16.self))
            branchCount = bytes.integer(8)
            leafCount = bytes.integer(16)
            overflowCount = bytes.integer(24)
            entryCount = bytes.integer(32)
            root = bytes.integer(40)
        }
    }

    /// A meta page: where everything is as of one commit.
    struct Meta {
        let pageByteCount: Int
        let freeList: Tree
        let main: Tree
        let lastPage: UInt64
        let transaction: UInt64
        /// How large the map of the process was that wrote it.
        let mapByteCount: UInt64
        private let page: UInt64
        private let flags: UInt16

        /// - Returns: nil when the bytes are no meta page, as liblmdb knows one, or say that pages have a length that
        ///   none can have.
        init?(_ bytes: RawSpan) {
            guard bytes.byteCount == PageLayout.metaByteCount,
                bytes.integer(PageLayout.metaMagicOffset) == PageLayout.magic,
                bytes.integer(PageLayout.metaVersionOffset) == PageLayout.version
            else { return nil }
            page = bytes.integer(0)
            flags = bytes.integer(PageLayout.flagsOffset)
            // The free list's tree says how long pages are.
            pageByteCount = Int(bytes.integer(PageLayout.metaFreeListOffset, as: UInt32.self))
            guard flags & PageLayout.meta != 0, pageByteCount >= 512, pageByteCount <= 65_536,
                pageByteCount & (pageByteCount - 1) == 0
            else { return nil }
            freeList = Tree(bytes.extracting(Self.tree(at: PageLayout.metaFreeListOffset)))
            main = Tree(bytes.extracting(Self.tree(at: PageLayout.metaMainOffset)))
            lastPage = bytes.integer(PageLayout.metaLastPageOffset)
            transaction = bytes.integer(PageLayout.metaCommitOffset)
            mapByteCount = bytes.integer(PageLayout.metaMapSizeOffset)
        }

        private static func tree(at offset: Int) -> Range<Int> {
            offset..<offset + PageLayout.tableByteCount
        }

        /// Whether its last page is one that a file can have, which has fewer bytes than a signed word can
        /// count.
        var hasLastPage: Bool {
            lastPage >= 1 && lastPage < UInt64(Int.max / pageByteCount)
        }

        /// Whether it is that page, and nothing but a meta page.
        func isSound(as page: UInt64) -> Bool {
            self.page == page && flags == PageLayout.meta && hasLastPage
        }

        /// Bytes up to and with the last page in use, where that is one.
        var usedByteCount: Int { (Int(lastPage) + 1) * pageByteCount }
    }

    /// Finds out how long the pages are. Returns nil when it does not begin as an LMDB file does.
    init?(_ descriptor: Int32) {
        guard let meta = Self.meta(of: descriptor, at: 0), meta.isSound(as: 0) else { return nil }
        self.descriptor = descriptor
        pageByteCount = meta.pageByteCount
    }

    /// The meta page at an offset; nil where there is none.
    static func meta(of descriptor: Int32, at offset: Int) -> Meta? {
        var bytes = [UInt8](repeating: 0, count: PageLayout.metaByteCount)
        return read(descriptor, at: offset, into: &bytes) ? Meta(bytes.span.bytes) : nil
    }

    /// The valid ones of both meta pages as they are now, by their places.
    func metas() -> [Meta?] {
        (0..<2).map { page in
            let meta = Self.meta(of: descriptor, at: page * pageByteCount)
            guard let meta, meta.isSound(as: UInt64(page)), meta.pageByteCount == pageByteCount
            else { return nil }
            return meta
        }
    }

    /// Makes a file without tables, as liblmdb makes one on a machine with pages of that length. Returns false
    /// when it cannot be written; errno says why.
    static func makeEmpty(_ path: String, pageByteCount: Int) -> Bool {
        var bytes: [UInt8] = []
        for page in 0..<2 as Range<UInt64> {
            bytes.append(littleEndian: page)
            bytes.append(littleEndian: UInt16(0))
            bytes.append(littleEndian: PageLayout.meta)
            bytes.append(littleEndian: UInt32(0))
            bytes.append(littleEndian: PageLayout.magic)
            bytes.append(littleEndian: PageLayout.version)
            // Address and size of the map: each opening chooses its own.
            bytes += [UInt8](repeating: 0, count: 16)
            // The free list has numbers as keys, and its tree says how long pages are.
            for (pad, flags) in [(UInt32(pageByteCount), UInt16(8)), (0, 0)] {
                bytes.append(littleEndian: pad)
                bytes.append(littleEndian: flags)
                bytes += [UInt8](repeating: 0, count: 2 + 4 * 8)
                bytes.append(littleEndian: Tree.noRoot)
            }
            // The last page, and the transaction.
            bytes.append(littleEndian: UInt64(1))
            bytes.append(littleEndian: UInt64(0))
            bytes += [UInt8](
                repeating: 0, count: (Int(page) + 1) * pageByteCount - bytes.count)
        }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o660)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return pwrite(descriptor, bytes, bytes.count, 0) == bytes.count
    }

    /// Fills `bytes` from the start of a page on. Returns false where the file has not as many.
    func read(page: UInt64, into bytes: inout [UInt8]) -> Bool {
        guard page < UInt64(Int.max / pageByteCount) else { return false }
        return Self.read(descriptor, at: Int(page) * pageByteCount, into: &bytes)
    }

    /// Asks the kernel to read pages, without waiting for them. What is in memory already costs a
    /// look.
    func prepare(pages: Range<UInt64>) {
        guard pages.upperBound < UInt64(Int.max / pageByteCount) else { return }
        posix_fadvise(
            descriptor, off_t(pages.lowerBound) * off_t(pageByteCount),
            off_t(pages.count) * off_t(pageByteCount), POSIX_FADV_WILLNEED)
    }

    private static func read(
        _ descriptor: Int32, at offset: Int, into bytes: inout [UInt8]
    ) -> Bool {
        FileBytes.read(descriptor, at: offset, into: &bytes) == bytes.count
    }
}
