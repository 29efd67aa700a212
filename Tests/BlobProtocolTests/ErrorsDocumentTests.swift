import Notifications
import TestSupport
import Testing

import BlobProtocol

/// Codes and limits as `docs/ERRORS.md` has them.
@Suite struct ErrorsDocumentTests {
    private let document = Files.text("\(Files.package)/docs/ERRORS.md")

    @Test("The document lists every code with its status, and no other")
    func codes() throws {
        var listed: [String] = []
        for line in document.split(separator: "\n") {
            if line.hasPrefix("| 4") || line.hasPrefix("| 5") {
                listed.append(line.split(separator: "|").prefix(2).joined(separator: "|"))
            } else if line.hasPrefix("400:") {
                listed += line.dropFirst(4).split(separator: ",").map { " 400 |\($0) " }
            }
        }
        for code in ErrorCode.allCases {
            #expect(listed.contains(" \(code.status) | `\(code.rawValue)` "), "\(code.rawValue)")
        }
        #expect(listed.count == ErrorCode.allCases.count)
    }

    @Test("The document lists the limits as they are")
    func limits() throws {
        for row in [
            "| HTTP: request line | 8,192 bytes", "| HTTP: header section | 16,384 bytes",
            "| HTTP: field lines | 100, of them 4", "| notification id | 1…255 bytes",
            "| part name | 1…64 bytes", "| message | 1…4,096 bytes", "| unanswered requests | 64 ",
            "| binary: head of a frame | 8,192 bytes", "| binary: body of a ping | 1,024 bytes",
            "| page of a list, of changes or of a history | 1,000 ",
            "| HTTP: query parameters | 16:",
            "| HTTP: line that starts a chunk | 256 bytes", "| HTTP: trailer section | 4,096 bytes",
        ] {
            #expect(document.contains(row), "\(row)")
        }
        #expect(WireLimits.requestLineByteCountMax == 8_192)
        #expect(WireLimits.headerSectionByteCountMax == 16_384)
        #expect(WireLimits.fieldLineCountMax == 100 && WireLimits.conditionLineCountMax == 4)
        #expect(WireLimits.idByteCountMax == 255 && TextKind.part.byteCountMax == 64)
        #expect(TextKind.message.byteCountMax == 4_096 && WireLimits.requestsInFlightMax == 64)
        #expect(WireLimits.frameHeadByteCountMax == 8_192 && WireLimits.listLimitMax == 1_000)
        #expect(WireLimits.pingBodyByteCountMax == 1_024)
        #expect(WireLimits.queryParameterCountMax == 16 && WireLimits.chunkLineByteCountMax == 256)
        #expect(WireLimits.trailerSectionByteCountMax == 4_096)
    }
}
