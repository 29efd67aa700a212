import Bytes
import Glibc
import TestSupport
import Testing

@testable import BlobStore

/// The walk at a start asks the kernel for the branches of each tree before it reads them, and so
/// follows what pages say before it knows that they are sound.
@Suite struct ReadAheadTests {
    /// A page of a tree with these entries, each an even number of bytes.
    private static func page(_ number: UInt64, flags: UInt16, _ entries: [[UInt8]]) -> [UInt8] {
        var page = [UInt8](repeating: 0, count: 4_096)
        var places: [UInt8] = []
        var upper = page.count
        for entry in entries {
            upper -= entry.count
            page.replaceSubrange(upper..<upper + entry.count, with: entry)
            places.append(littleEndian: UInt16(upper))
        }
        var head: [UInt8] = []
        head.append(littleEndian: number)
        head.append(littleEndian: UInt16(0))
        head.append(littleEndian: flags)
        head.append(littleEndian: UInt16(16 + places.count))
        head.append(littleEndian: UInt16(upper))
        page.replaceSubrange(0..<16 + places.count, with: head + places)
        return page
    }

    /// A tree as its table's entry has it.
    private static func tree(depth: UInt16, branches: UInt64, root: UInt64) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 6)
        bytes.append(littleEndian: depth)
        for number in [branches, 1, 0, 1, root] { bytes.append(littleEndian: number) }
        return bytes
    }

    @Test("Branches that are their own children end the walk with a problem", arguments: 2...40)
    func circle(depth: Int) throws {
        let folder = TemporaryFolder()
        let path = folder.path("data.mdb")
        #expect(PageFile.makeEmpty(path, pageByteCount: 4_096))
        let main = Self.tree(depth: 1, branches: 0, root: 2)
        try Files.overwrite(main, at: 4_096 + 88, in: path)
        var commit: [UInt8] = []
        commit.append(littleEndian: UInt64(3))
        commit.append(littleEndian: UInt64(1))
        try Files.overwrite(commit, at: 4_096 + 136, in: path)

        var table: [UInt8] = [48, 0, 0, 0, 2, 0, 4, 0]
        table += Array("name".utf8)
        table += Self.tree(depth: UInt16(depth), branches: .max, root: 3)
        // Sixty children with keys in order, all of them this page.
        let children = (0..<60).map { [3, 0, 0, 0, 0, 0, 2, 0, 0x61, UInt8($0)] }
        let pages = Self.page(2, flags: 2, [table]) + Self.page(3, flags: 1, children)
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        #expect(pwrite(descriptor, pages, pages.count, 2 * 4_096) == pages.count)

        let file = try #require(PageFile(descriptor))
        let meta = try #require(file.metas()[1])
        for extent in [PageWalk.Extent.all, .start(leafCountMax: 10)] {
            let report = PageWalk.report(on: file, asOf: meta, extent)
            #expect(report.problemCount > 0)
        }
    }
}
