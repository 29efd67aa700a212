import Bytes
import LMDB
import TestSupport
import Testing

@testable import BlobStore

/// Stores of format version 1, in which nothing is counted for owners.
@Suite struct UpgradeTests {
    /// Makes a store of version 1 of one that is closed.
    static func downgrade(_ folder: TemporaryFolder) throws {
        let environment = try Environment(
            directory: folder.path,
            mapByteCount: 1 << 30, readerCountMax: 4, tableCountMax: 32)
        var transaction = try environment.beginWrite()
        let meta = try transaction.openTable("meta", creating: false)
        let index = try transaction.openTable("expiry", creating: false)
        let name = Array(FormatRecord.name.utf8)
        var keys: [[UInt8]] = []
        do {
            let found = try transaction.value(forKey: name.span.bytes, in: meta)?.array() ?? []
            guard var format = try? FormatRecord(found.span.bytes) else {
                throw TestFailure("no format")
            }
            format.version = 1
            try transaction.put(format.value.span.bytes, forKey: name.span.bytes, in: meta)
        }
        do {
            var cursor = TableCursor(try transaction.cursor(in: index))
            var isThere = try cursor.move(.first)
            while isThere {
                let key = cursor.key.array()
                if case .usage? = try? OwnerKey(key.span.bytes) { keys.append(key) }
                isThere = try cursor.move(.next)
            }
        }
        #expect(!keys.isEmpty)
        for key in keys { _ = try transaction.delete(key.span.bytes, in: index) }
        try transaction.commit()
    }

    private func make(_ count: Int = 40) throws -> (TemporaryFolder, StoreContents) {
        let folder = TemporaryFolder()
        do {
            let store = try folder.open()
            for number in 0..<count {
                // Two that are the same as texts, and not as bytes.
                let owner = ["anna", "b\u{e9}n", "be\u{301}n", nil][number % 4]
                let publication = try store.publication(
                    "n\(number)", [UInt8](repeating: 1, count: number), owner: owner)
                _ = try store.apply([.publish(publication)], asOf: noon)
            }
        }
        let contents: StoreContents
        do { contents = try BlobStore.openReadOnly(at: folder.path).contents() }
        try Self.downgrade(folder)
        return (folder, contents)
    }

    @Test("What each owner has is counted when a store of version 1 is opened")
    func counted() throws {
        let (folder, before) = try make()
        do {
            let store = try BlobStore.openReadOnly(at: folder.path)
            #expect(try store.verify().problems == [])
            #expect(try store.contents() != before)
        }
        for _ in 0..<2 {
            let store = try folder.open()
            #expect(try store.verify().problems == [])
            #expect(try store.contents() == before)
            let format = try store.withSnapshot { (snapshot) throws(StoreError) in
                try snapshot.format()
            }
            #expect(format.version == 2 && format.storeID == store.id)
        }
    }

    @Test("A backup of version 1 makes a store of version 1, which is counted when it is opened")
    func backup() throws {
        let (folder, before) = try make()
        var backup: [UInt8] = []
        do {
            let store = try BlobStore.openReadOnly(at: folder.path)
            try store.backUp(asOf: noon) { bytes in
                bytes.withUnsafeBytes { backup.append(contentsOf: $0) }
            }
        }
        let restored = TemporaryFolder()
        var rest = backup[...]
        try BlobStore.restore(to: restored.path, asOf: noon) { buffer, countMax in
            buffer.append(contentsOf: rest.prefix(countMax))
            rest = rest.dropFirst(countMax)
        }
        let store = try restored.open()
        #expect(try store.verify().problems == [])
        #expect(try store.contents().entries == before.entries)
    }

    @Test("A wrong count is found, and keeps nobody from deleting")
    func wrong() throws {
        let (folder, _) = try make()
        let store = try folder.open()
        try store.pipeline.change(asOf: noon, isPublishing: true) {
            (transaction) throws(StoreError) in
            var usage = OwnerUsage()
            usage.add(3)
            try transaction.put(usage, at: IndexKeys.usage("anna"))
        }
        #expect(
            try store.verify().problems
                == ["the usage of anna is 1 notifications, 3 bytes; counted: 10, 180"])
        try store.deleteOwner("anna", asOf: noon)
        #expect(try store.verify().problems == [])
    }
}
