import TestSupport
import Testing

@testable import BlobStore

/// Places in feeds and histories as texts.
@Suite struct FeedCursorTests {
    private static let store = StoreID(high: 0x0123_4567_89ab_cdef, low: 0xfedc_ba98_7654_3210)

    private static func text(
        _ cursor: FeedCursor, owner: String = "anna", store: StoreID = store
    ) -> [UInt8] {
        var text: [UInt8] = []
        let owner = Array(owner.utf8)
        cursor.append(owner: owner.span.bytes, store: store, to: &text)
        return text
    }

    private static func read(
        _ text: [UInt8], owner: String = "anna", store: StoreID = store
    ) -> FeedCursor? {
        let owner = Array(owner.utf8)
        return FeedCursor(text.span.bytes, owner: owner.span.bytes, store: store)
    }

    private static func token(_ text: [UInt8], owner: String = "anna") -> HistoryToken? {
        let owner = Array(owner.utf8)
        return HistoryToken(text.span.bytes, owner: owner.span.bytes, store: store)
    }

    /// Computed apart from this code. A client may keep a text for as long as it likes.
    @Test("The texts stay what they are")
    func golden() {
        let cursor = FeedCursor(position: 12, base: 99)
        #expect(Self.text(cursor) == Array("AAAAAAAAAAwAAAAAAAAAY5N-Cnhozqaj".utf8))
        #expect(Self.read(Array("AAAAAAAAAAwAAAAAAAAAY5N-Cnhozqaj".utf8)) == cursor)
        let last = FeedCursor(position: .max, base: 0)
        #expect(Self.text(last) == Array("__________8AAAAAAAAAAHiEuz1knwBc".utf8))
        #expect(Self.read(Array("__________8AAAAAAAAAAHiEuz1knwBc".utf8)) == last)
        var text: [UInt8] = []
        let owner = Array("anna".utf8)
        HistoryToken(sequence: 12).append(owner: owner.span.bytes, store: Self.store, to: &text)
        #expect(text == Array("AAAAAAAAAAwAAAAAAAAAAHf7U51fx9qH".utf8))
        #expect(Self.token(text)?.sequence == 12)
    }

    @Test("A base that says nothing more is dropped")
    func base() {
        #expect(FeedCursor(position: 12, base: 12).base == 0)
        #expect(FeedCursor(position: 12, base: 11).base == 0)
        #expect(FeedCursor(position: 12, base: 13).base == 13)
    }

    @Test("The place of another owner, another store or another kind is none")
    func others() {
        let text = Self.text(FeedCursor(position: 12, base: 99))
        for owner in ["", "ann", "anna ", "anja", "\u{e9}"] {
            #expect(Self.read(text, owner: owner) == nil, "\(owner)")
        }
        // The same letter in one scalar and in two: two owners.
        let composed = Self.text(FeedCursor(position: 1, base: 0), owner: "\u{e9}")
        #expect(Self.read(composed, owner: "e\u{301}") == nil)
        #expect(Self.read(text, store: StoreID(high: 1, low: 2)) == nil)
        #expect(Self.token(text) == nil)
        var history: [UInt8] = []
        let owner = Array("anna".utf8)
        HistoryToken(sequence: 12).append(owner: owner.span.bytes, store: Self.store, to: &history)
        #expect(Self.read(history) == nil)
    }

    @Test("Any other character, anywhere, and any other length is none")
    func damaged() {
        let text = Self.text(FeedCursor(position: 12, base: 99))
        for offset in 0..<text.count {
            for character in UInt8.min...UInt8.max where character != text[offset] {
                var other = text
                other[offset] = character
                #expect(Self.read(other) == nil, "\(character) at \(offset)")
            }
        }
        for count in 0..<text.count { #expect(Self.read(Array(text.prefix(count))) == nil) }
        #expect(Self.read(text + text) == nil)
        #expect(Self.read(text + [0x3D]) == nil)
    }

    @Test("Every place has its text", arguments: [UInt64(1), 2])
    func roundTrip(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let cursor = FeedCursor(
                position: generator.next() >> UInt64.random(in: 0..<64, using: &generator),
                base: generator.next() >> UInt64.random(in: 0..<64, using: &generator))
            let text = Self.text(cursor)
            #expect(text.count == FeedCursor.textByteCount)
            #expect(Self.read(text) == cursor, "seed \(seed): \(cursor)")
        }
    }
}
