import Testing

import BlobProtocol

/// The head of the usual answer is the one that its fields written one by one make.
@Suite struct PayloadHeadTests {
    private func expected(
        _ mediaType: String, _ byteCount: UInt64, _ digest: [UInt8], _ maxAge: UInt64
    ) -> [UInt8] {
        var out: [UInt8] = []
        var tag: [UInt8] = Array("\"".utf8)
        DigestText.append(digest.span.bytes, to: &tag)
        tag += Array("\"".utf8)
        HTTPResponseHead.begin(200, into: &out)
        HTTPResponseHead.date(seconds: 784_111_777, into: &out)
        HTTPResponseHead.field("Content-Type", mediaType.utf8.span.bytes, into: &out)
        HTTPResponseHead.field("Content-Length", byteCount, into: &out)
        HTTPResponseHead.field("ETag", tag.span.bytes, into: &out)
        let control = Array("private, max-age=\(maxAge)".utf8)
        HTTPResponseHead.field("Cache-Control", control.span.bytes, into: &out)
        HTTPResponseHead.field("Accept-Ranges", "bytes", into: &out)
        HTTPResponseHead.field("X-Content-Type-Options", "nosniff", into: &out)
        HTTPResponseHead.field(
            "Content-Security-Policy", "sandbox; default-src 'none'", into: &out)
        HTTPResponseHead.end(into: &out)
        return out
    }

    @Test("Numbers of every length, types up to the longest, and every digit")
    func fields() {
        var head = PayloadHead()
        head.setDate(seconds: 1)
        head.setDate(seconds: 784_111_777)
        var numbers: [UInt64] = [0, .max]
        var power: UInt64 = 1
        for _ in 0..<19 {
            numbers += [power, power &* 10 - 1]
            power &*= 10
        }
        let types = ["a/b", "image/jpeg", String(repeating: "t", count: 255)]
        var generator = SeededGenerator(seed: 59)
        for number in numbers {
            for type in types {
                let digest = (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
                let other = numbers.randomElement(using: &generator)!
                var out: [UInt8] = [1, 2, 3]
                let right = expected(type, number, digest, other)
                for isEnded in [true, false] {
                    head.append(
                        mediaType: type.utf8.span.bytes, byteCount: number,
                        digest: digest.span.bytes, maxAge: other, isEnded: isEnded, into: &out)
                }
                #expect(
                    out == [1, 2, 3] + right + right.dropLast(4),
                    "seed \(generator.seed): \(number), \(other), \(digest)")
            }
        }
    }
}
