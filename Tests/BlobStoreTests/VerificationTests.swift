import BlobStore
import Testing

@Suite struct VerificationTests {
    @Test("A store that was used in every way agrees with itself")
    func clean() throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        var generator = SeededGenerator(seed: 11)
        let shared = generator.bytes(200_000)
        for index in 0..<50 {
            try store.put("n\(index)", index % 2 == 0 ? shared : generator.bytes(index * 3_000))
        }
        try store.put(
            "n1", Array(String(repeating: "text ", count: 50_000).utf8), part: "note",
            mediaType: "text/plain")
        for index in 0..<10 { try store.delete("n\(index)", asOf: noon) }
        try store.put("short", shared, seconds: 1)
        let swept = try store.sweepExpired(asOf: noon.adding(seconds: 2), limit: 100)
        #expect(swept.expired == 1)
        let before = try store.verify()
        #expect(before.problems == [])
        #expect(before.orphans > 0)
        while try store.freeOrphans(byteCountMax: 50_000).bytes > 0 {}
        let after = try store.verify()
        #expect(after.problems == [])
        #expect(after.orphans == 0)
        #expect(after.notifications == 40)
    }
}
