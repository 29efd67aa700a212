import Testing

@testable import Hashing

/// Known answers: the examples of FIPS 180-4, its messages of a million bytes, and lengths around
/// those at which SHA-256 pads with a block more.
@Suite struct SHA256Tests {
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (
            "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                + "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
        ),
    ])
    func examples(text: String, digest: String) {
        let bytes = Array(text.utf8)
        #expect(hex(SHA256.digest(of: bytes.span.bytes)) == digest)
        // Cut at each place, with a digest taken in between.
        for cut in 0...bytes.count {
            var hash = SHA256()
            hash.update(Array(bytes[..<cut]))
            let first = hex(hash.digest())
            #expect(cut < bytes.count || first == digest)
            hash.update(bytes.span.bytes.extracting(cut..<bytes.count))
            #expect(hex(hash.digest()) == digest)
        }
    }

    @Test(arguments: [1, 63, 64, 65, 1_000, 1_000_000])
    func aMillionBytesInPieces(pieceByteCount: Int) {
        let piece = [UInt8](repeating: UInt8(ascii: "a"), count: pieceByteCount)
        var hash = SHA256()
        var rest = 1_000_000
        while rest > 0 {
            let count = min(rest, pieceByteCount)
            hash.update(piece.span.bytes.extracting(first: count))
            rest -= count
        }
        #expect(
            hex(hash.digest())
                == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    @Test(arguments: [
        (55, "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7"),
        (56, "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb"),
        (64, "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b"),
    ])
    func lengthsAtTheEdgeOfABlock(byteCount: Int, digest: String) {
        let bytes = [UInt8](repeating: 0, count: byteCount)
        #expect(hex(SHA256.digest(of: bytes.span.bytes)) == digest)
    }

    @Test func aCopyGoesOnByItself() {
        var first = SHA256()
        first.update([1, 2, 3])
        var second = first
        second.update([4])
        #expect(hex(first.digest()) == hex(SHA256.digest(of: ([1, 2, 3] as [UInt8]).span.bytes)))
        #expect(
            hex(second.digest()) == hex(SHA256.digest(of: ([1, 2, 3, 4] as [UInt8]).span.bytes)))
    }

    private func hex(_ digest: InlineArray<32, UInt8>) -> String {
        digest.indices.map { index in
            let text = String(digest[index], radix: 16)
            return text.count == 1 ? "0" + text : text
        }.joined()
    }
}
