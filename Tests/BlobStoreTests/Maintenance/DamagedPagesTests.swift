import Bytes
import Glibc
import LMDB
import TestSupport
import Testing

@testable import BlobStore

/// LMDB's own pages have no checksums: what they say is compared with what can be before it is
/// believed, and `verify` walks them by itself.
@Suite struct DamagedPagesTests {
    /// A store with entries in every table, and its file.
    private struct Made {
        let folder = TemporaryFolder()
        let path: String
        let bytes: [UInt8]
        let pictures: [String: [UInt8]]

        init(count: Int = 40) throws {
            path = folder.path + "/data.mdb"
            var generator = SeededGenerator(seed: 23)
            var pictures: [String: [UInt8]] = [:]
            do {
                let store = try folder.open()
                for index in 0..<count {
                    let picture = generator.bytes(index % 5 == 0 ? 70_000 : 100 + 37 * index)
                    try store.publish(
                        Publication(
                            id: "n\(index)", payload: try store.prepare(picture), owner: "anna",
                            expiry: .at(noon.adding(seconds: 3_600))), asOf: noon)
                    pictures["n\(index)"] = picture
                }
                for index in 0..<5 {
                    try store.delete("n\(index)", asOf: noon)
                    pictures["n\(index)"] = nil
                }
                try store.allowZeroCopy(
                    at: BootTime(bootID: ZeroCopyGraceTests.boot, milliseconds: 5_000))
                #expect(try store.verify().problems == [])
            }
            bytes = try Files.read(path)
            self.pictures = pictures
        }

        func flip(_ bit: Int, at offset: Int) throws {
            let place = offset + bit / 8
            try Files.overwrite([bytes[place] ^ 1 << UInt8(bit % 8)], at: place, in: path)
        }

        func mend(_ bit: Int, at offset: Int) throws {
            let place = offset + bit / 8
            try Files.overwrite([bytes[place]], at: place, in: path)
        }
    }

    /// The pages of the main table and of all others, as of the last commit.
    private static func treePages(_ made: Made) throws -> Set<UInt64> {
        let file = made.bytes.span.bytes
        let newest =
            file.integer(144, as: UInt64.self) > file.integer(4_240, as: UInt64.self)
            ? 0 : 4_096
        let main: UInt64 = file.integer(newest + 128)
        var pages: Set<UInt64> = []
        func walk(_ root: UInt64) throws {
            guard root != .max, pages.insert(root).inserted else { return }
            let start = Int(root) * 4_096
            let page = file.extracting(start..<start + 4_096)
            guard let children = try? PageEntry.ranges(on: page, page: root, isLeaf: false) else {
                return
            }
            for child in children {
                try walk(PageEntry(page.extracting(child), isLeaf: false).child)
            }
        }
        try walk(main)
        let tables = file.extracting(Int(main) * 4_096..<(Int(main) + 1) * 4_096)
        for place in try PageEntry.ranges(on: tables, page: main, isLeaf: true) {
            let entry = PageEntry(tables.extracting(place), isLeaf: true)
            try walk(PageFile.Tree(entry.value).root)
        }
        return pages
    }

    /// The entries of all leaves: where they begin in the file.
    private static func entries(_ made: Made) throws -> [Int] {
        var places: [Int] = []
        for number in try treePages(made).sorted() {
            let start = Int(number) * 4_096
            let page = made.bytes.span.bytes.extracting(start..<start + 4_096)
            guard let found = try? PageEntry.ranges(on: page, page: number, isLeaf: true) else {
                continue
            }
            places += found.map { start + $0.lowerBound }
        }
        return places
    }

    @Test("No high bit of the size of any entry ends the process or changes a byte")
    func sizes() throws {
        let made = try Made(count: 16)
        var refusals = 0
        let entries = try Self.entries(made)
        func hasPages(_ place: Int) -> Bool { made.bytes[place + 4] & 1 != 0 }
        // Only chunks have pages of their own, and the first blob was deleted.
        func number(_ place: Int) -> UInt64 {
            UInt64(bigEndian: made.bytes.span.bytes.word(place + 8))
        }
        let orphan = entries.filter(hasPages).map(number).min()
        for (index, place) in entries.enumerated() {
            for bit in [index % 2 == 0 ? 9 + index % 8 : 18 + index % 13, 31] {
                try made.flip(bit, at: place)
                defer { try? made.mend(bit, at: place) }
                // Nobody may write to it. The size of a value with pages of its own is its reader's.
                if !hasPages(place) {
                    #expect(throws: StoreError.self, "bit \(bit) at \(place)") {
                        _ = try made.folder.open()
                    }
                }
                guard let store = try? BlobStore.openReadOnly(at: made.folder.path) else {
                    refusals += 1
                    continue
                }
                for (id, picture) in made.pictures {
                    guard let bytes = try? store.ownedPayload(for: id, asOf: noon) else { continue }
                    #expect(bytes == picture)
                }
                _ = try? store.withSnapshot { (snapshot) throws(StoreError) in
                    let owner = Array("anna".utf8)
                    _ = try snapshot.changes(
                        of: owner.span.bytes, from: .beginning, limit: 1_000)
                }
                _ = try? store.withSnapshot { (snapshot) throws(StoreError) in
                    try snapshot.records(after: RawSpan(), limit: 1_000, asOf: noon)
                }
                // Nobody reads the bytes of what was deleted.
                if index % 8 == 0, !hasPages(place) || number(place) != orphan {
                    let report = try? store.verify(
                        hasPages(place) ? .bytes : .entries, continuesPastDamage: true)
                    #expect(report?.isClean == false, "bit \(bit) at \(place)")
                }
            }
        }
        #expect(refusals > 0, "format and counters are among the entries")
    }

    @Test("Every page's number, kind and bounds are looked at, and so is every branch's child")
    func structure() throws {
        let made = try Made()
        var offsets: [(Int, Int)] = []
        let pages = try Self.treePages(made)
        #expect(pages.count > 8)
        for number in pages {
            let start = Int(number) * 4_096
            let page = made.bytes.span.bytes.extracting(start..<start + 4_096)
            // Number, kind, and how many entries there are.
            offsets += (0..<64).map { (start, $0) } + (80..<112).map { (start, $0) }
            guard let children = try? PageEntry.ranges(on: page, page: number, isLeaf: false) else {
                continue
            }
            for child in children { offsets += (0..<48).map { (start + child.lowerBound, $0) } }
        }
        // A third of them: the places of each kind are many.
        for (offset, bit) in offsets where (offset / 4_096 + offset + bit) % 3 == 0 {
            try made.flip(bit, at: offset)
            let report = try BlobStore.checkPages(at: made.folder.path)
            #expect(!report.isClean, "bit \(bit) at \(offset)")
            try made.mend(bit, at: offset)
        }
        #expect(try BlobStore.checkPages(at: made.folder.path).problems == [])
    }

    @Test("A size in `meta` that cannot be is refused by the table and the key")
    func zeroCopyMark() throws {
        let made = try Made()
        let name = Array(ZeroCopyMark.name.utf8)
        let head: [UInt8] = [0, 0, UInt8(name.count), 0] + name
        let places = made.bytes.ranges(of: head).map(\.lowerBound)
        #expect(!places.isEmpty)
        for place in places { try made.flip(30, at: place - 4) }
        let error = try failure { _ = try made.folder.open() }
        #expect(error.description.contains("of table meta"), "\(error)")
        let store = try BlobStore.openReadOnly(at: made.folder.path)
        let report = try store.verify(.entries, continuesPastDamage: true)
        #expect(
            report.problems.contains { $0.contains(#"table meta, key "zero-copy""#) },
            "\(report)")
    }

    /// A bit in the free list gave a page of a picture away. What was published next was written
    /// there, and the picture, whose checksum had been computed, was sent with those bytes.
    @Test("A page that is free and in use is refused before anything is written")
    func freePages() throws {
        let made = try Made()
        let span = made.bytes.span.bytes
        let newest =
            span.integer(144, as: UInt64.self) > span.integer(4_240, as: UInt64.self)
            ? 0 : 4_096
        let root: UInt64 = span.integer(newest + 80)
        let page = span.extracting(Int(root) * 4_096..<(Int(root) + 1) * 4_096)
        var refusals = 0
        for place in try PageEntry.ranges(on: page, page: root, isLeaf: true) {
            // Behind the entry's head, its key and the count.
            let start = Int(root) * 4_096 + place.lowerBound + 24
            for bit in 0..<6 where place.count > 24 {
                try made.flip(bit, at: start)
                if let error = try? failure({ _ = try made.folder.open() }) {
                    #expect(error.description.contains("is damaged: page"), "\(error)")
                    refusals += 1
                }
                try made.mend(bit, at: start)
            }
        }
        #expect(refusals > 0)
        _ = try made.folder.open()
    }

    @Test("Meta pages whose commits do not follow each other are refused")
    func metas() throws {
        let made = try Made()
        let file = made.bytes.span.bytes
        let commits: [UInt64] = [file.integer(144), file.integer(4_096 + 144)]
        for page in 0..<2 {
            for bit in 0..<64 {
                // A commit may become the one behind the other's, or before it: nothing tells that.
                let flipped = commits[page] ^ 1 << UInt64(bit)
                let other = commits[1 - page]
                if flipped == other &+ 1 || flipped &+ 1 == other { continue }
                try made.flip(bit, at: page * 4_096 + 144)
                #expect(throws: StoreError.self, "bit \(bit) of \(page)") {
                    _ = try made.folder.open()
                }
                try made.mend(bit, at: page * 4_096 + 144)
            }
        }
        _ = try made.folder.open()
    }

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
