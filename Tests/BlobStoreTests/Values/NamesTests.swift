import TestSupport
import Testing

@testable import BlobStore

/// What is refused, with the field that is named, and the store as it was.
@Suite struct NamesTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

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
        "A media type that is one is kept as it was given",
        arguments: [
            "image/png", "text/plain; charset=utf-8", "application/vnd.api+json;a=\"b/c\"",
            "x/y\t;\tz=1", "A/B", "text/" + String(repeating: "x", count: 250),
        ])
    func goodMediaTypes(type: String) throws {
        #expect(try store.put("a", [1], mediaType: type).parts[0].mediaType == type)
        #expect(try store.record(for: "a", asOf: noon)?.parts[0].mediaType == type)
    }

    @Test(
        "Each text is checked by its rule: a bad one is refused, and changes nothing"
    )
    func texts() throws {
        var slipped = try store.publication("a", [1])
        slipped.mediaType = "image/png\r\nX-Injected: 1"
        let bad: [(InvalidInput.Field, Publication)] = [
            (.id, try store.publication("\u{1B}[31m", [1])),
            // Behind a good one.
            (.mediaType, slipped), (.owner, try store.publication("a", [1], owner: "a\nb")),
            (.richType, try store.publication("a", [1], richType: "\u{9F}")),
            (.message, try store.publication("a", [1], message: "a\u{0}b")),
        ]
        for (field, publication) in bad {
            let error = try failure { try store.publish(publication, asOf: noon) }
            #expect(error.field == field, "\(error)")
        }
        #expect(try failure { try store.put("a", [1], mediaType: "image") }.field == .mediaType)
        for id in ["", "a/b", "\0"] {
            #expect(try store.lookUp(id) == .missing)
            #expect(try !store.delete(id, asOf: noon))
        }
        #expect(try store.counters() == Counters())
        let good = try store.publication(
            "a", [1], owner: String(repeating: "o", count: 255),
            message: "tabs\tand\r\nlines" + String(repeating: "m", count: 4_081), richType: "")
        let record = try store.publish(good, asOf: noon)
        let read = try store.record(for: "a", asOf: noon)
        #expect(read == record)
        #expect(read?.richType == "")
    }

    @Test("Every error names the field, the value or its size, and the limit")
    func words() throws {
        let long = try failure { try store.put(String(repeating: "x", count: 300), [1]) }
        #expect(long.description == "the id is 300 bytes long; the limit is 255")
        let slash = try failure { try store.put("a/b", [1]) }
        #expect(slash.description == "the id must not contain / (byte 1)")
        let control = try failure { try store.put("a\u{1}", [1]) }
        #expect(
            control.description == "the id must not contain the control character U+0001 (byte 1)")
        let type = try failure { try store.put("a", [1], mediaType: "png") }
        #expect(
            type.description
                == "the media type must have the form type/subtype, such as image/jpeg (invalid at byte 3)"
        )
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
