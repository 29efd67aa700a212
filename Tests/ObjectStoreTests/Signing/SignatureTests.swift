import Bytes
import Hashing
import TestSupport
import Testing

@testable import ObjectStore

/// Signatures of version 4, beside those that AWS publishes and those that botocore makes.
@Suite struct SignatureTests {
    /// The examples of "Signature Calculations for the Authorization Header" in Amazon S3's API reference.
    @Test(
        "The published examples",
        arguments: [
            (
                "GET", "/test.txt", [], [("Range", "bytes=0-9")], "",
                "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
            ),
            (
                "PUT", "/test$file.text", [],
                [
                    ("Date", "Fri, 24 May 2013 00:00:00 GMT"),
                    ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
                ], "Welcome to Amazon S3.",
                "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
            ),
            (
                "GET", "/", [("lifecycle", "")], [], "",
                "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
            ),
            (
                "GET", "/", [("prefix", "J"), ("max-keys", "2")], [], "",
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
            ),
        ] as [(String, String, [(String, String)], [(String, String)], String, String)])
    func published(
        method: String, path: String, query: [(String, String)], headers: [(String, String)],
        body: String, signature: String
    ) throws {
        let signed = RequestSignature(
            endpoint: try Endpoint("https://examplebucket.s3.amazonaws.com"), region: "us-east-1"
        ).sign(
            method, path: path, query: query.map { (name: $0.0, value: $0.1) },
            headers: headers.map { (name: $0.0, value: $0.1) },
            bodyDigest: digest(of: body),
            with: Credentials(
                accessKeyID: "AKIAIOSFODNN7EXAMPLE",
                secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", sessionToken: nil,
                source: "the example"),
            at: SigningTime(seconds: 1_369_353_600))
        #expect(signed.headers.last?.value.hasSuffix("Signature=\(signature)") == true)
    }

    @Test("Times are written as signatures have them")
    func times() {
        for (seconds, text) in [
            (0, "19700101T000000Z"), (1_369_353_600, "20130524T000000Z"),
            (1_709_251_199, "20240229T235959Z"), (-5, "19700101T000000Z"),
            (Int64.max, "99991231T235959Z"),
        ] {
            let time = SigningTime(seconds: seconds)
            #expect(String(decoding: time.text, as: UTF8.self) == text)
            #expect(time.text.starts(with: time.day))
        }
    }

    @Test("A server's date is read, and nothing else is")
    func serverDates() {
        #expect(ServerDate.seconds("Sun, 06 Nov 1994 08:49:37 GMT") == 784_111_777)
        #expect(ServerDate.seconds("Thu, 29 Feb 2024 23:59:59 GMT") == 1_709_251_199)
        for text in [
            "", "Sun, 06 Nov 1994 08:49:37", "Sun, 31 Feb 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994", "Sun, +6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Noé 1994 08:49:37 GMT",
        ] {
            #expect(ServerDate.seconds(text) == nil, "\(text)")
        }
    }

    @Test("The clock follows a server's once, not for ever")
    func clock() {
        let clock = SigningClock { 1_000_000 }
        #expect(clock.now == SigningTime(seconds: 1_000_000))
        #expect(clock.follow(serverSeconds: 316_000_000))
        #expect(clock.now == SigningTime(seconds: 316_000_000))
        #expect(!clock.follow(serverSeconds: 316_000_001))
        #expect(clock.follow(serverSeconds: 500_000))
        #expect(clock.offsetSeconds == -500_000)
    }
}

func digest(of text: String) -> InlineArray<32, UInt8> {
    let bytes = Array(text.utf8)
    return SHA256.digest(of: bytes.span.bytes)
}
