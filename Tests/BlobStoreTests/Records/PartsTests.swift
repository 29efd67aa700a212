import TestSupport
import Testing

@testable import BlobStore

@Suite struct PartsTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    @Test("Thirty-two parts are stored and found; one more is refused, and replacing one is not")
    func partCount() throws {
        for index in 0..<StoreLimits.partCountMax {
            try store.put("a", [UInt8(index)], part: index == 7 ? "payload" : "part-\(index)")
        }
        let before = try store.counters()
        #expect(before.parts == 32)
        let error = try failure { try store.put("a", [99], part: "one-more") }
        #expect(error.field == .partCount)
        #expect(error.description.contains("32"))
        #expect(try store.counters() == before)
        try store.put("a", [100], part: "part-31")
        for index in 0..<StoreLimits.partCountMax {
            let name = index == 7 ? "payload" : "part-\(index)"
            let read = try store.ownedPayload(for: "a", part: name, asOf: noon)
            #expect(read == [index == 31 ? 100 : UInt8(index)], "\(name)")
        }
        #expect(try store.record(for: "a", asOf: noon)?.parts.first?.name == "payload")
        try store.delete("a", asOf: noon)
        let empty = try store.counters()
        #expect(empty.parts == 0)
        #expect(empty.blobs == 0)
    }

    /// Swift holds é as one scalar and é as two for the same text; names are bytes. The one
    /// replaced the other, which was then not found by the name it had been published under.
    @Test("Names that look alike and have other bytes are other parts")
    func equivalentNames() throws {
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        try store.put("a", [1], part: composed)
        try store.put("a", [2], part: decomposed)
        let first = try store.ownedPayload(for: "a", part: composed, asOf: noon)
        let second = try store.ownedPayload(for: "a", part: decomposed, asOf: noon)
        #expect(first == [1])
        #expect(second == [2])
        let record = try store.record(for: "a", asOf: noon)
        #expect(record?.parts.count == 2)
        #expect(
            record?.part(named: decomposed)?.blob.digest
                != record?.part(named: composed)?.blob.digest)
        #expect(try store.verify().problems == [])
    }

    @Test("An id is assigned where none is given: the next decimal number that is free")
    func assignedIDs() throws {
        let folder = TemporaryFolder()
        do {
            let store = try folder.open()
            try store.put("1", [0])
            let ids = try (0..<3).map { _ in try store.put(nil, [1]).id }
            #expect(ids == ["0", "2", "3"])
        }
        // Also after the store was closed, and though one was deleted.
        let store = try folder.open()
        try store.delete("3", asOf: noon)
        #expect(try store.put(nil, [1]).id == "4")
    }

    @Test("Notifications are listed in the order of their ids' bytes, from any id")
    func listing() throws {
        for id in ["b", "a", "\u{E9}", "ab", "Z"] { try store.put(id, [1]) }
        func list(after id: String, _ limit: Int) throws -> [String] {
            let id = Array(id.utf8)
            return try store.withSnapshot { (snapshot) throws(StoreError) in
                try snapshot.records(after: id.span.bytes, limit: limit, asOf: noon).records.map {
                    $0.id
                }
            }
        }
        #expect(try list(after: "", 10) == ["Z", "a", "ab", "b", "\u{E9}"])
        #expect(try list(after: "a", 2) == ["ab", "b"])
        #expect(try list(after: "aa", 1) == ["ab"])
        let none = try list(after: "\u{E9}", 10)
        #expect(none == [])
        #expect(try list(after: String(repeating: "x", count: 600), 10) == [])
    }

    /// Swift holds é as one scalar and é as two for the same text.
    @Test("Owners, groups and ids that look alike and have other bytes are others")
    func equivalentTexts() throws {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        try store.publish("a", owner: composed, group: composed)
        let record = try store.publish("a", owner: decomposed, group: composed)
        let first = try store.indexCount()
        // Tombstone, finder and end of the one; place, group, expiry and usage of the other.
        #expect(first == 7)
        let patched = try store.patch("a") { $0.group = .set(decomposed) }
        #expect(!patched.isUnchanged)
        #expect(try store.indexCount() == 8)
        #expect(record.sequence == 2)
        #expect(try store.verify().problems == [])
    }

    @Test("A time to live is counted from the moment of the change, for holds too")
    func after() throws {
        let later = noon.adding(seconds: 10)
        func publish(_ expiry: Expiry) throws -> Record {
            try store.publish(store.publication("a", [1], expiry: expiry), asOf: later)
        }
        let record = try publish(.after(seconds: 60))
        #expect(record.expiresAt.milliseconds - record.createdAt.milliseconds == 60_000)
        for seconds in [Int64.min, -1, 0, .max] {
            for expiry in [Expiry.after(seconds: seconds), .keepOrAfter(seconds: seconds)] {
                let error = try failure { _ = try publish(expiry) }
                #expect(error.field == .expiry, "\(expiry)")
            }
        }
        let payload = try store.prepare([2])
        let hold = BlobHold(payload, seconds: 30)
        guard case .held(let held, true) = try store.apply([.hold(hold)], asOf: later)[0] else {
            Issue.record("not held")
            return
        }
        #expect(held.until == later.adding(seconds: 30))
        // A hold is never made shorter.
        guard
            case .held(let again, false) = try store.apply(
                [.hold(BlobHold(payload, seconds: 1))], asOf: later)[0]
        else {
            Issue.record("not held")
            return
        }
        #expect(again.until == held.until)
    }

    @Test(
        "An id at the limit, or of unusual characters, is stored and found",
        arguments: [
            "0", String(repeating: "x", count: 255), String(repeating: "\u{E9}", count: 127),
            " ", "a b", "%2F", "日本語", "😀", "\u{200F}", ".", "..", "a\\b", "payload",
        ])
    func goodIDs(id: String) throws {
        let record = try store.put(id, [1])
        #expect(record.id.utf8.elementsEqual(id.utf8))
        #expect(try store.record(for: id, asOf: noon) == record)
        #expect(try store.delete(id, asOf: noon))
        #expect(try store.counters().notifications == 0)
    }

    @Test(
        "A digest is read in the one form it is written in",
        arguments: [
            "", "sha256:", "sha256:2cf2", "SHA256:" + String(repeating: "a", count: 64),
            "sha256:" + String(repeating: "A", count: 64),
            "sha256:" + String(repeating: "a", count: 65),
            "sha256:" + String(repeating: "g", count: 64),
            "sha512:" + String(repeating: "a", count: 64),
            "sha256:" + String(repeating: "é", count: 32),
        ])
    func badDigests(text: String) {
        #expect(Digest(text) == nil)
    }
}
