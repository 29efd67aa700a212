import BlobProtocol
import Bytes
import Hashing
import TestSupport
import Testing

/// Links that let devices fetch: the boundary to the internet.
@Suite struct SignedLinkTests {
    private static let now: Int64 = 1_800_000_000
    private static let keyText = "2026a AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    private static func keys(_ lines: String...) throws -> SigningKeys {
        try SigningKeys(parsing: Array(lines.joined(separator: "\n").utf8))
    }

    private static func isValid(
        _ link: String, _ keys: SigningKeys, now: Int64 = Self.now
    ) -> Bool {
        let bytes = Array(link.utf8)
        let end = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.count
        let all = bytes.span.bytes
        let expiry = SignedLink.expiry(
            path: all.extracting(first: end),
            query: all.extracting(droppingFirst: min(end + 1, bytes.count)), now: now, keys: keys)
        return expiry != nil
    }

    @Test("A code is that of RFC 4231")
    func vectors() {
        func hex(_ code: InlineArray<32, UInt8>) -> String {
            var out: [UInt8] = []
            Hex.append(code.span.bytes, to: &out)
            return String(decoding: out, as: UTF8.self)
        }
        let short = HMAC(key: Array("Jefe".utf8))
        #expect(
            hex(short.code(of: Array("what do ya want for nothing?".utf8)))
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        let long = HMAC(key: [UInt8](repeating: 0xAA, count: 131))
        #expect(
            hex(
                long.code(of: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8)))
                == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
    }

    @Test("A signature is compared whole: any other digit, a missing one or one more is none")
    func comparison() {
        let code = HMAC(key: Array("Jefe".utf8)).code(of: [1, 2, 3])
        var text: [UInt8] = []
        Base64.appendURL(code.span.bytes, to: &text)
        #expect(text.count == 43)
        func isSame(_ text: some Sequence<UInt8>) -> Bool {
            Base64.isURL(Array(text).span.bytes, of: code.span.bytes)
        }
        #expect(isSame(text))
        for index in text.indices {
            for bit in 0..<8 {
                var other = text
                other[index] ^= 1 << bit
                #expect(!isSame(other))
            }
        }
        for count in 0..<text.count { #expect(!isSame(text.prefix(count))) }
        #expect(!isSame(text + [UInt8(ascii: "A")]) && !isSame(text + [0]))
    }

    /// Made by: `printf 'GET\n/d/42\n1800003600\n2026a' | openssl dgst -sha256 -mac HMAC -macopt
    /// hexkey:000102…1f -binary | basenc --base64url | tr -d =`.
    @Test("A link is what three lines of any language make")
    func golden() throws {
        let keys = try Self.keys(Self.keyText)
        let link = try SignedLink(
            to: .payload(id: "42"), expiresAt: Self.now + 3_600, keys: keys)
        let (_, output, _) = try run([
            "/bin/sh", "-c",
            "printf 'GET\\n/d/42\\n1800003600\\n2026a' | openssl dgst -sha256 -mac HMAC -macopt hexkey:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f -binary | basenc --base64url | tr -d '=\\n'",
        ])
        let signature = String(decoding: output, as: UTF8.self)
        #expect(link.text == "/d/42?e=1800003600&k=2026a&sig=\(signature)")
        #expect(Self.isValid(link.text, keys))
        let part = try SignedLink(
            to: .part(id: "a b", name: "é"), expiresAt: Self.now + 1, keys: keys)
        #expect(part.text.hasPrefix("/d/a%20b/parts/%C3%A9?e="))
        #expect(Self.isValid(part.text, keys))
        // Each is the only one with its path.
        #expect(SignedLink.Target.changes(owner: "parts").path == "/d/users/parts/changes")
        #expect(
            SignedLink.Target.part(id: "users", name: "changes").path == "/d/%75sers/parts/changes")
        #expect(
            SignedLink.Target.part(id: "users", name: "sound").path == "/d/users/parts/sound")
        let feed = try SignedLink(to: .changes(owner: "ann"), expiresAt: Self.now + 1, keys: keys)
        #expect(feed.text.hasPrefix("/d/users/ann/changes?e="))
        #expect(Self.isValid(feed.text + "&since=0&wait=30", keys))
        #expect(!Self.isValid(feed.text, keys, now: Self.now + 1))
        #expect(Self.isValid(feed.text, keys, now: Self.now))
    }

    @Test("A link of which any bit is changed is not valid")
    func mutations() throws {
        let keys = try Self.keys(Self.keyText, "old \(String(repeating: "AB", count: 22))")
        var random = SeededGenerator(seed: 103)
        for _ in 0..<testRounds(20) {
            let target: SignedLink.Target =
                switch Int.random(in: 0..<3, using: &random) {
                case 0: .payload(id: "n\(Int.random(in: 0..<1_000_000, using: &random))")
                case 1: .part(id: "n 1", name: "p\(Int.random(in: 0..<1_000, using: &random))")
                default: .changes(owner: "user \(Int.random(in: 0..<1_000, using: &random))")
                }
            let expiry = Self.now + Int64.random(in: 1..<1_000_000, using: &random)
            let link = Array(try SignedLink(to: target, expiresAt: expiry, keys: keys).text.utf8)
            #expect(Self.isValid(String(decoding: link, as: UTF8.self), keys), "seed 103")
            for index in link.indices {
                for bit in 0..<8 {
                    var changed = link
                    changed[index] ^= 1 << UInt8(bit)
                    // What is no UTF-8 is compared as bytes all the same.
                    let end = changed.firstIndex(of: UInt8(ascii: "?")) ?? changed.count
                    let all = changed.span.bytes
                    let expiry = SignedLink.expiry(
                        path: all.extracting(first: end),
                        query: all.extracting(droppingFirst: min(end + 1, changed.count)),
                        now: Self.now, keys: keys)
                    #expect(expiry == nil, "\(String(decoding: changed, as: UTF8.self)), seed 103")
                }
            }
            for count in 0..<link.count {
                #expect(!Self.isValid(String(decoding: link.prefix(count), as: UTF8.self), keys))
            }
        }
    }

    @Test("Parameters doubled, encoded or missing make no link; their order does not matter")
    func queries() throws {
        let keys = try Self.keys(Self.keyText)
        let link = try SignedLink(to: .payload(id: "42"), expiresAt: Self.now + 9, keys: keys).text
        let query = link.split(separator: "?")[1]
        let parts = query.split(separator: "&").map(String.init)
        #expect(Self.isValid("/d/42?\(parts.reversed().joined(separator: "&"))", keys))
        #expect(Self.isValid("/d/42?\(query)&x=1", keys))
        for wrong in [
            "/d/42?\(query)&\(parts[0])", "/d/42?\(query)&\(parts[1])",
            "/d/42?\(query)&\(parts[2])",
            "/d/%34%32?\(query)", "/d/42/?\(query)", "/d/42/parts/payload?\(query)",
            "/d/43?\(query)",
            "/d/42?\(query)=", "/d/42?\(query)%3D", "/d/42?\(parts[0])&\(parts[2])", "/d/42?",
            "/d/42", "/d/42?\(query.replacing("e=", with: "e=0"))",
            "/d/42?\(query.replacing("e=", with: "e=%2B"))",
            "/d/42?\(query.replacing("k=2026a", with: "k=2026A"))",
            "/d/42?\(query.replacing("k=2026a", with: "k=%32026a"))",
        ] {
            #expect(!Self.isValid(wrong, keys), "\(wrong)")
        }
    }

    // A link whose expiry was in milliseconds was valid for 55,000 years.
    @Test("An expiry after the year 9999 is refused, and not signed")
    func milliseconds() throws {
        let keys = try Self.keys(Self.keyText)
        let last = WireLimits.linkExpirySecondsMax
        let link = try SignedLink(to: .payload(id: "42"), expiresAt: last, keys: keys).text
        #expect(Self.isValid(link, keys))
        for wrong in [last + 1, Self.now * 1_000, .max] {
            #expect(throws: ProtocolError.self) {
                try SignedLink(to: .payload(id: "42"), expiresAt: wrong, keys: keys)
            }
            let code = HMAC(key: [UInt8](0..<32)).code(
                of: Array("GET\n/d/42\n\(wrong)\n2026a".utf8))
            var signature: [UInt8] = []
            Base64.appendURL(code.span.bytes, to: &signature)
            let text = String(decoding: signature, as: UTF8.self)
            #expect(!Self.isValid("/d/42?e=\(wrong)&k=2026a&sig=\(text)", keys))
        }
    }

    @Test("A key that is replaced verifies as long as it is there")
    func rotation() throws {
        let new = "new \(String(repeating: "CD", count: 22))"
        let old = try Self.keys(Self.keyText)
        let both = try Self.keys("# the new one first", "", new, Self.keyText)
        #expect(both.ids == ["new", "2026a"])
        let link = try SignedLink(to: .payload(id: "42"), expiresAt: Self.now + 9, keys: old).text
        #expect(Self.isValid(link, both))
        #expect(!Self.isValid(link, try Self.keys(new)))
        let other = try SignedLink(to: .payload(id: "42"), expiresAt: Self.now + 9, keys: both).text
        #expect(other.contains("&k=new&"))
        #expect(!Self.isValid(other, old))
        // The same id with another key.
        let swapped = try Self.keys("2026a \(String(repeating: "CD", count: 22))")
        #expect(!Self.isValid(link, swapped))
    }

    @Test(
        "Files of keys that are wrong are refused by line",
        arguments: [
            ("", "there is no key"), ("a", "line 1: must be an id and a key in base64"),
            ("a AAAA", "line 1: the key has 3 bytes; it must have 32 to 256"),
            ("\na !!!!", "line 2: the key is not base64"),
            ("a/b \(String(repeating: "AB", count: 22))", "line 1: the id must have 1 to 32 of"),
            (
                "a \(String(repeating: "AB", count: 22))\na \(String(repeating: "CD", count: 22))",
                "line 2: the id a is given twice"
            ),
        ])
    func badKeys(text: String, words: String) throws {
        do {
            _ = try SigningKeys(parsing: Array(text.utf8))
            Issue.record("\(text) is taken")
        } catch {
            #expect(error.description.hasPrefix(words), "\(error)")
        }
    }
}
