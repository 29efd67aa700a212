import Notifications
import TestSupport
import Testing

import BlobProtocol

/// The rules for ids, part names, texts and media types.
@Suite struct NameTests {
    private func idCode(_ bytes: [UInt8]) -> ErrorCode? {
        code { () throws(ProtocolError) in try TextKind.id.check(bytes.span.bytes) }
    }

    @Test("An id has 1…255 bytes of UTF-8")
    func id() {
        for text in [
            "0", "a b", "é", "€", "😀", "...", "%2F", "a\\b", "\u{a0}", "\u{fffd}\u{10ffff}",
        ] {
            #expect(idCode(Array(text.utf8)) == nil, "\(text)")
        }
        #expect(idCode([]) == .badID)
        #expect(idCode(Array(repeating: 97, count: 255)) == nil)
        #expect(idCode(Array(repeating: 97, count: 256)) == .badID)
        #expect(idCode(Array("a/b".utf8)) == .badID)
    }

    @Test("Control characters are refused: U+0000–001F and U+007F–009F")
    func controls() {
        for scalar in 0..<0x100 {
            let text = String(Character(Unicode.Scalar(UInt32(scalar))!))
            let isControl = scalar < 0x20 || (0x7F..<0xA0).contains(scalar)
            let isRefused = isControl || text == "/"
            #expect(idCode(Array("a\(text)b".utf8)) == (isRefused ? .badID : nil), "\(scalar)")
        }
    }

    @Test(
        "What is not UTF-8 is refused (RFC 3629, section 4)",
        arguments: [
            [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x41], [0xE0, 0x9F, 0xBF],
            [0xE2, 0x82], [0xE2, 0x41, 0x80], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF],
            [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0x98], [0xF4, 0x90, 0x80, 0x80],
            [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xFE], [0xE2, 0x82, 0xC0],
        ] as [[UInt8]])
    func notUTF8(bytes: [UInt8]) {
        #expect(idCode(bytes) == .badID)
        #expect(idCode([97] + bytes) == .badID)
        #expect(idCode(bytes + [97]) == .badID)
    }

    @Test("UTF-8 is judged as the standard library judges it")
    func likeTheLibrary() {
        var generator = SeededGenerator(seed: 20_261_121)
        var wellFormed = 0
        for _ in 0..<testRounds(10_000) {
            let count = Int.random(in: 0...5, using: &generator)
            let bytes = (0..<count).map { _ in
                // Mostly bytes from 80 on, where the rules are.
                UInt8.random(
                    in: Bool.random(using: &generator) ? 0x80...0xFF : 0x20...0xFF,
                    using: &generator)
            }
            let text = String(validating: bytes, as: UTF8.self)
            let isText =
                text?.unicodeScalars.allSatisfy { !(0x7F...0x9F).contains($0.value) } ?? false
            let check = code { () throws(ProtocolError) in
                try TextKind.message.check(bytes.span.bytes)
            }
            #expect(
                (check == nil) == (isText && !bytes.isEmpty), "seed \(generator.seed): \(bytes)")
            if isText { wellFormed += 1 }
        }
        #expect(wellFormed > 200)
    }

    @Test(
        "Media types have their syntax (RFC 9110, section 8.3.1)",
        arguments: [
            ("image/png", true), ("text/plain; charset=utf-8", true), ("a/b;c=\"d;\\\"e\"", true),
            ("a/b ; c=d\t;e=f", true), ("a/b;", true), ("a/b;;c=d", true), ("x-a.b+c/*", true),
            ("text", false), ("/b", false), ("a/", false), ("a b/c", false), ("a/b c", false),
            ("a/b;c", false), ("a/b;c=", false), ("a/b; c = d", false), ("a/b;c=\"d", false),
            ("a/b\r\nX: y", false), ("a/b;c=\"\r\n\"", false), ("a/b;c=\"é\"", false), ("", false),
            (" a/b", false), ("a/b ", false), ("a/b,c/d", false), ("a/b;c=\"\\", false),
        ])
    func mediaTypes(text: String, isGood: Bool) {
        let bytes = Array(text.utf8)
        let problem = code { () throws(ProtocolError) in
            try TextKind.mediaType.check(bytes.span.bytes)
        }
        #expect(problem == (isGood ? nil : .badMediaType))
    }

    @Test("A checked text is made of what its kind takes, and of nothing else")
    func checkedTexts() throws {
        func fault<Rule>(_ type: CheckedText<Rule>.Type, _ text: String) -> ErrorCode? {
            let bytes = Array(text.utf8)
            let ofBytes = code { () throws(ProtocolError) in
                _ = try type.init(onWire: bytes.span.bytes)
            }
            let ofText = code { () throws(ProtocolError) in _ = try type.init(onWire: text) }
            let ofKind = code { () throws(ProtocolError) in
                try Rule.kind.check(bytes.span.bytes)
            }
            #expect(ofBytes == ofKind && ofText == ofKind, "\(Rule.kind) \(text)")
            return ofText
        }
        for text in ["", "a\u{7F}", String(repeating: "a", count: 5_000)] {
            #expect(fault(NotificationID.self, text) == .badID)
            #expect(fault(PartName.self, text) == .badPart)
            #expect(fault(OwnerID.self, text) == .badOwner)
            #expect(fault(AppName.self, text) == .badApp)
            #expect(fault(Title.self, text) == .badTitle)
            #expect(fault(Message.self, text) == .badMessage)
            #expect(fault(RichType.self, text) == .badRichType)
            #expect(fault(MediaType.self, text) == .badMediaType)
            #expect(fault(CategoryName.self, text) == .badCategory)
            #expect(fault(GroupName.self, text) == .badGroup)
            #expect(fault(DeviceName.self, text) == .badDevice)
        }
        #expect(fault(NotificationID.self, "a/b") == .badID)
        #expect(fault(NotificationID.self, "..") == .badID)
        #expect(fault(CategoryName.self, ".") == .badCategory)
        #expect(fault(Title.self, "..") == nil)
        #expect(fault(OwnerID.self, "a/../b") == .badOwner)
        #expect(fault(OwnerID.self, "a/b") == nil)
        #expect(try Title(given: RawSpan()) == nil)
        // Two texts for Swift, one for nobody else.
        #expect(try AppName(onWire: "\u{E9}") != AppName(onWire: "e\u{301}"))
    }
}
