import Testing

@testable import BlobClient

@Suite struct DigestTests {
    /// The examples of FIPS 180-2, appendix B, and the digest of nothing.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
    ])
    func digestsAreSHA256(text: String, hex: String) {
        let bytes = Array(text.utf8)
        let digest = PayloadDigest(of: bytes.span.bytes)
        #expect(digest.description == "sha256:" + hex)
        #expect(PayloadDigest("sha256:" + hex) == digest)
        let raw = digest.bytes
        #expect(PayloadDigest(bytes: raw.span.bytes) == digest)
    }

    @Test(arguments: [
        "", "sha256:", "sha512:" + String(repeating: "0", count: 64),
        "sha256:" + String(repeating: "0", count: 63),
        "sha256:" + String(repeating: "0", count: 66),
        "sha256:" + String(repeating: "A", count: 64),
        "sha256:" + String(repeating: "é", count: 32),
    ])
    func anythingElseIsNoDigest(text: String) {
        #expect(PayloadDigest(text) == nil)
    }
}
