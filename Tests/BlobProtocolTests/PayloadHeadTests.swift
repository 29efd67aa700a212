import TestSupport
import Testing

import BlobProtocol

/// The head of an answer with a payload is the one that its fields written one by one make.
@Suite struct PayloadHeadTests {
    private func expected(
        _ fields: PayloadHead.Fields, _ mediaType: String, _ digest: [UInt8]
    ) -> [UInt8] {
        var out: [UInt8] = []
        let name = Digest(bytes: digest.span.bytes)?.description ?? ""
        let tag = Array("\"\(name)\(fields.isGzip ? "-gzip" : "")\"".utf8)
        HTTPResponseHead.begin(fields.status, into: &out)
        HTTPResponseHead.date(seconds: 784_111_777, into: &out)
        if fields.isLast {
            HTTPResponseHead.field("Connection", "close", into: &out)
        } else if fields.isHTTP10 {
            HTTPResponseHead.field("Connection", "keep-alive", into: &out)
        }
        let hasBody = fields.status != 304
        if hasBody {
            HTTPResponseHead.field("Content-Type", mediaType.utf8.span.bytes, into: &out)
            HTTPResponseHead.field("Content-Length", fields.byteCount, into: &out)
            if let range = fields.range {
                let words = "bytes \(range.lower)-\(range.upper - 1)/\(range.total)"
                HTTPResponseHead.field("Content-Range", words.utf8.span.bytes, into: &out)
            }
            if fields.isGzip { HTTPResponseHead.field("Content-Encoding", "gzip", into: &out) }
        }
        HTTPResponseHead.field("ETag", tag.span.bytes, into: &out)
        if fields.varies { HTTPResponseHead.field("Vary", "Accept-Encoding", into: &out) }
        var control = "private, no-cache"
        if case .immutable(let seconds) = fields.freshness {
            control = "private, immutable, max-age=\(seconds)"
        }
        HTTPResponseHead.field("Cache-Control", control.utf8.span.bytes, into: &out)
        if fields.freshness == .ending {
            HTTPResponseHead.field("X-Accel-Expires", "0", into: &out)
        }
        if hasBody {
            HTTPResponseHead.field("Accept-Ranges", "bytes", into: &out)
            HTTPResponseHead.field("X-Content-Type-Options", "nosniff", into: &out)
            HTTPResponseHead.field(
                "Content-Security-Policy", "sandbox; default-src 'none'", into: &out)
        }
        out += "\r\n".utf8
        return fields.isEnded ? out : out.dropLast(4)
    }

    private func check(
        _ fields: PayloadHead.Fields, _ mediaType: String, _ digest: [UInt8],
        with head: borrowing PayloadHead
    ) {
        var out: [UInt8] = [1, 2, 3]
        head.append(
            fields, mediaType: mediaType.utf8.span.bytes, digest: digest.span.bytes, into: &out)
        #expect(
            out == [1, 2, 3] + expected(fields, mediaType, digest),
            "\(fields), \(mediaType), \(digest)")
    }

    private func head() -> PayloadHead {
        var head = PayloadHead()
        head.setDate(seconds: 1)
        head.setDate(seconds: 784_111_777)
        return head
    }

    @Test("Numbers of every length, types up to the longest, and every digit")
    func numbers() {
        let head = head()
        var numbers: [UInt64] = [0, .max]
        var power: UInt64 = 1
        for _ in 0..<19 {
            numbers += [power, power &* 10 - 1]
            power &*= 10
        }
        var generator = SeededGenerator(seed: 59)
        for number in numbers {
            for type in ["a/b", "image/jpeg", String(repeating: "t", count: 255)] {
                let digest = (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
                var fields = PayloadHead.Fields(status: 206)
                fields.freshness = .immutable(
                    seconds: numbers.randomElement(using: &generator)!)
                fields.byteCount = number
                fields.range = (number / 2, max(number, 1), .max)
                check(fields, type, digest, with: head)
            }
        }
    }

    @Test("Every choice of fields")
    func choices() {
        let head = head()
        let digest = (0..<32).map { UInt8($0 * 7) }
        for status: UInt16 in [200, 206, 304] {
            for bits in 0..<96 {
                var fields = PayloadHead.Fields(status: status)
                fields.freshness = [.replaceable, .ending, .immutable(seconds: 3_600)][bits / 32]
                fields.isLast = bits & 1 != 0
                fields.isHTTP10 = bits & 2 != 0
                fields.isGzip = bits & 4 != 0
                fields.varies = bits & 8 != 0
                fields.isEnded = bits & 16 != 0
                if status == 206 { fields.range = (0, 10, 1_000) }
                check(fields, "image/png", digest, with: head)
            }
        }
    }
}
