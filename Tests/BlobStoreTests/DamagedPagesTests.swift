import LMDB
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

        init() throws {
            path = folder.path + "/data.mdb"
            var generator = SeededGenerator(seed: 23)
            var pictures: [String: [UInt8]] = [:]
            do {
                let store = try folder.open()
                for index in 0..<40 {
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
                try store.beginLending(at: BootTime(bootID: LendingTests.boot, milliseconds: 5_000))
                let report = try store.verify()
                #expect(report.problems == [])
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

    /// The entries of all leaves that are in use: where they begin in the file.
    private static func entries(_ made: Made) throws -> [Int] {
        let page = 4_096
        let store = try made.folder.open()
        let used = store.environment.usedByteCount / page
        var places: [Int] = []
        for number in 2..<used {
            let span = made.bytes.span.bytes.extracting(number * page..<(number + 1) * page)
            guard
                let found = try? PageEntry.places(on: span, page: UInt64(number), .leaf)
            else { continue }
            places += found.map { number * page + $0.lowerBound }
        }
        return places
    }

    @Test("No high bit of the size of any entry ends the process or changes a byte")
    func sizes() throws {
        let made = try Made()
        var refusals = 0
        for (index, place) in try Self.entries(made).enumerated() {
            for bit in [9 + index % 8, 18 + index % 13, 31] {
                try made.flip(bit, at: place)
                defer { try? made.mend(bit, at: place) }
                guard let store = try? made.folder.open() else {
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
                try? store.beginLending(
                    at: BootTime(bootID: LendingTests.boot, milliseconds: 9_000))
                if index % 8 == 0 { _ = try? store.verify() }
            }
        }
        #expect(refusals > 0, "format and counters are among the entries")
    }

    @Test("Every page's number, kind and bounds are looked at, and so is every branch's child")
    func structure() throws {
        let made = try Made()
        var offsets: [(Int, Int)] = []
        let used: Int
        do {
            let store = try made.folder.open()
            used = store.environment.usedByteCount / 4_096
        }
        let file = made.bytes.span.bytes
        var reached: Set<UInt64> = []
        func walk(_ root: UInt64) throws {
            guard root != .max, reached.insert(root).inserted else { return }
            let start = Int(root) * 4_096
            let page = file.extracting(start..<start + 4_096)
            // Number, kind, and how many entries there are.
            offsets += (0..<64).map { (start, $0) } + (80..<112).map { (start, $0) }
            guard let children = try? PageEntry.places(on: page, page: root, .branch) else {
                return
            }
            for child in children {
                offsets += (0..<48).map { (start + child.lowerBound, $0) }
                try walk(PageEntry(page.extracting(child), isLeaf: false).child)
            }
        }
        let newest =
            file.integer(at: 144, as: UInt64.self) > file.integer(at: 4_240, as: UInt64.self)
            ? 0 : 4_096
        let main: UInt64 = file.integer(at: newest + 128)
        try walk(main)
        let tables = file.extracting(Int(main) * 4_096..<(Int(main) + 1) * 4_096)
        for place in try PageEntry.places(on: tables, page: main, .leaf) {
            let entry = PageEntry(tables.extracting(place), isLeaf: true)
            try walk(PageFile.Tree(entry.value).root)
        }
        #expect(reached.count > 8 && reached.allSatisfy { $0 < used })
        for (offset, bit) in offsets {
            try made.flip(bit, at: offset)
            let report = try BlobStore.checkPages(at: made.folder.path)
            #expect(!report.isClean, "bit \(bit) at \(offset)")
            try made.mend(bit, at: offset)
        }
        let report = try BlobStore.checkPages(at: made.folder.path)
        #expect(report.problems == [])
    }

    @Test("A size in `meta` that cannot be is refused by the table and the key")
    func startLog() throws {
        let made = try Made()
        let name = Array(StartLog.name.utf8)
        let head: [UInt8] = [0, 0, UInt8(name.count), 0] + name
        let place = try #require(made.bytes.lastRange(of: head)?.lowerBound)
        for place in made.bytes.indices
        where place + head.count <= made.bytes.count
            && made.bytes[place..<place + head.count].elementsEqual(head)
        {
            try made.flip(30, at: place - 4)
        }
        #expect(place > 0)
        let store = try made.folder.open()
        let error = try failure {
            try store.beginLending(at: BootTime(bootID: LendingTests.boot, milliseconds: 9_000))
        }
        #expect(error.isCorrupt)
        #expect(error.description.contains(#"table meta, key "starts""#), "\(error)")
        let report = try store.verify()
        #expect(!report.isClean)
    }

    @Test("Meta pages whose commits do not follow each other are refused")
    func metas() throws {
        let made = try Made()
        let file = made.bytes.span.bytes
        let commits: [UInt64] = [file.integer(at: 144), file.integer(at: 4_096 + 144)]
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

    @Test("A record or a blob's entry with identity coding and two lengths is refused")
    func twoLengths() throws {
        // The record's checksum is right: somebody made it by hand. Reading byte 6 of 5 was a trap.
        let blob = BlobReference(
            digest: GoldenBytesTests.digest, number: 7, byteCount: 9, storedByteCount: 5,
            coding: .identity)
        let record = Record(
            id: "42", createdAt: noon, expiresAt: noon.adding(seconds: 60), revision: 1,
            parts: [Part(name: "payload", mediaType: "image/png", blob: blob)])
        let bytes = RecordEncoder.bytes(record)
        let view = try RecordView(bytes.span.bytes)
        try view.check(id: Array("42".utf8).span.bytes)
        #expect(throws: StoreError.self) { _ = try view.part(at: 0).blob() }
        let entry = BlobEntry(blob, referenceCount: 1, expiryBound: noon)
        let words = entry.words(digest: blob.digest)
        #expect(throws: StoreError.self) {
            _ = try BlobEntry(words.span.bytes, digest: blob.digest)
        }
    }

    @Test("Numbers so high that counting on would overflow are refused")
    func highNumbers() throws {
        var counters = Counters()
        counters.revision = .max
        var words = counters.words
        #expect(throws: StoreError.self) { _ = try Counters(words.span.bytes) }
        counters.revision = 1
        counters.nextBlobNumber = .max - 1
        words = counters.words
        #expect(throws: StoreError.self) { _ = try Counters(words.span.bytes) }
        var blob = BlobReference(
            digest: GoldenBytesTests.digest, number: 7, byteCount: 5, storedByteCount: 5,
            coding: .identity)
        let entry = BlobEntry(blob, referenceCount: .max, expiryBound: noon)
        let bytes = entry.words(digest: blob.digest)
        #expect(throws: StoreError.self) {
            _ = try BlobEntry(bytes.span.bytes, digest: blob.digest)
        }
        blob.number = .max
        let high = BlobEntry(blob, referenceCount: 1, expiryBound: noon)
        let highBytes = high.words(digest: blob.digest)
        #expect(throws: StoreError.self) {
            _ = try BlobEntry(highBytes.span.bytes, digest: blob.digest)
        }
    }
}

extension Array where Element == UInt8 {
    fileprivate func lastRange(of pattern: [UInt8]) -> Range<Int>? {
        guard count >= pattern.count else { return nil }
        for start in stride(from: count - pattern.count, through: 0, by: -1)
        where self[start..<start + pattern.count].elementsEqual(pattern) {
            return start..<start + pattern.count
        }
        return nil
    }
}
