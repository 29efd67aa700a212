import LMDB
import TestSupport
import Testing

@testable import BlobStore

/// A file keeps the pages of the machine that it was made on: 16 KiB, or 32 KiB, the most that
/// LMDB takes, where the system has 64.
@Suite struct PageSizeTests {
    private let folder = TemporaryFolder()

    @Test(
        "A store with other pages works, and is verified", arguments: [512, 8_192, 16_384, 32_768])
    func works(pageByteCount: Int) throws {
        var generator = SeededGenerator(seed: UInt64(pageByteCount))
        var pictures: [[UInt8]] = []
        do {
            let store = try folder.open { $0.pageByteCount = pageByteCount }
            #expect(store.core.environment.pageByteCount == pageByteCount)
            for index in 0..<60 {
                pictures.append(generator.bytes(17 + index * index * 40))
                try store.put("n\(index)", pictures[index])
            }
            for index in 0..<20 { try store.put("n\(index)", pictures[index + 1]) }
            for index in 50..<60 { try store.delete("n\(index)", asOf: noon) }
            try store.freeAll()
            #expect(try store.verify().problems == [])
        }
        let store = try folder.open()
        #expect(store.core.environment.pageByteCount == pageByteCount)
        for index in 0..<50 {
            let bytes = try store.ownedPayload(for: "n\(index)", asOf: noon)
            #expect(bytes == pictures[index < 20 ? index + 1 : index])
        }
    }

    /// A stretch of 4,096 bytes was sent from its pages whatever these were; in a file with pages of
    /// 16 KiB it shared them with other entries, and a receiver got what was written there later.
    @Test(
        "Only chunks with pages of their own are sent zero-copy",
        arguments: [4_096, 16_384, 32_768])
    func stretches(pageByteCount: Int) throws {
        let store = try folder.open { $0.pageByteCount = pageByteCount }
        let pages = try #require(store.dataPages())
        #expect(pages.stretchByteCountMin == pageByteCount)
        var generator = SeededGenerator(seed: 9)
        for byteCount in stride(from: 1_000, to: 40_000, by: 531) {
            let blob = try store.put("x", generator.bytes(byteCount)).parts[0].blob
            // One that is in memory is not sent from the file at all.
            try store.commitPending()
            let isAlone = try store.withSnapshot { (snapshot) throws(StoreError) in
                let bytes = try snapshot.storedBytes(of: blob, from: 0)
                let offset = bytes.withUnsafeBytes { pages.offset(of: $0.baseAddress!) ?? 0 }
                // Behind the header of its first page and the checksum, and so in no leaf.
                return offset % pageByteCount == 64 || offset % pageByteCount == 20
            }
            if byteCount >= pages.stretchByteCountMin { #expect(isAlone, "\(byteCount) bytes") }
        }
    }

    /// What a change may add to the file is reckoned in its pages.
    @Test("Longer pages take more room")
    func growth() throws {
        let store = try folder.open { $0.pageByteCount = 32_768 }
        let before = store.core.environment.usedByteCount
        var batch = BatchPlan(from: 0, pageByteCount: store.core.environment.pageByteCount)
        let publication = try store.publication("one", [UInt8](repeating: 1, count: 100))
        batch.addBookkeeping(of: .publish(publication))
        batch.addChunks(of: publication.payload)
        try store.publish(publication, asOf: noon)
        #expect(store.core.environment.usedByteCount - before <= batch.growth)
        #expect(BatchPlan(from: 0, pageByteCount: 4_096).pageScale == 1)
        #expect(batch.pageScale == 8)
    }
}
