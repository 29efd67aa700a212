import Testing

@testable import BlobClient

@Suite struct DigestTests {
    @Test func aDigestIsWrittenAndReadAsHexadecimal() {
        let digest = PayloadDigest(of: Array("abc".utf8).span.bytes)
        let text = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        #expect(digest.description == text && PayloadDigest(text) == digest)
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
