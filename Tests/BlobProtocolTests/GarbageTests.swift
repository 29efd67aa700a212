import TestSupport
import Testing

import BlobProtocol

/// Messages with random damage. That the test ends is the first thing it shows: a parser that traps
/// takes the whole process with it.
@Suite struct GarbageTests {
    /// Changes, removes, inserts or repeats a few bytes.
    private func damaged(_ bytes: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
            guard !bytes.isEmpty else { break }
            let index = Int.random(in: 0..<bytes.count, using: &generator)
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: bytes[index] = UInt8.random(in: 0...255, using: &generator)
            case 1: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            case 2: bytes.remove(at: index)
            case 3: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: index)
            case 4: bytes.removeLast(bytes.count - index)
            default: bytes.insert(contentsOf: bytes[index...].prefix(20), at: index)
            }
        }
        return bytes
    }

    @Test("Damaged binary requests are refused, or mean what their bytes say")
    func binary() throws {
        var generator = SeededGenerator(seed: 7_130_771)
        let requests = try Transcript.all().flatMap(\.exchanges)
            .map(\.request).filter { $0[0] == Wire.requestMagic }
        var accepted = 0
        for _ in 0..<testRounds(4_000) {
            let bytes = damaged(requests.randomElement(using: &generator)!, &generator)
            guard let frame = try? RequestFrame.parse(bytes.span.bytes),
                let operation = frame.operation, bytes.count >= 24 + Int(frame.headByteCount)
            else { continue }
            let head = Array(bytes[24..<(24 + Int(frame.headByteCount))])
            guard let again = recompose(head: head, of: operation, flags: frame.flags) else {
                continue
            }
            #expect(again == head, "seed \(generator.seed): \(bytes)")
            accepted += 1
        }
        #expect(accepted > 200)
    }

    @Test("HTTP requests are read the same in whatever pieces they come, and damaged ones too")
    func http() throws {
        var generator = SeededGenerator(seed: 9_112)
        // And those that tables of exchanges send as they are.
        let tables = ["framing", "heads"].map {
            Files.text("\(Files.package)/Tests/Exchanges/\($0).txt")
        }
        let raw = tables.joined().matches(of: #/RAW (.*?)  [→@]/#).map { row in
            let text = row.1.replacing("⏎", with: "\r\n").replacing(#/\\x([0-9A-F]{2})/#) {
                String(UnicodeScalar(UInt8($0.1, radix: 16) ?? 0))
            }
            return Array(text.utf8)
        }
        #expect(raw.count > 300)
        let requests =
            try raw
            + Transcript.all().flatMap(\.exchanges)
            .map(\.request).filter { $0[0] != Wire.requestMagic }
        var good: [[UInt8]] = []
        for bytes in requests {
            guard case .head(let head, let consumed) = parseHead(bytes) else { continue }
            good.append(bytes)
            if head.isChunked { _ = ChunkedDecoderTests.decode(Array(bytes[consumed...])) }
        }
        var accepted = 0
        for _ in 0..<testRounds(300) {
            let bytes = damaged(good.randomElement(using: &generator)!, &generator)
            guard case .head(let head, let consumed) = parseHead(bytes) else { continue }
            accepted += 1
            if head.isChunked { _ = ChunkedDecoderTests.decode(Array(bytes[consumed...])) }
        }
        #expect(accepted > 20)
    }
}
