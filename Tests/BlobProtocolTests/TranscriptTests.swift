import Notifications
import TestSupport
import Testing

import BlobProtocol

/// The transcripts, put through the codecs.
@Suite struct TranscriptTests {
    @Test("There are as many transcripts as there should be")
    func present() throws {
        let transcripts = try Transcript.all()
        #expect(transcripts.count == 5)
        #expect(transcripts.map(\.exchanges.count).reduce(0, +) == 23)
    }

    @Test("Each binary request parses, and composes to the same bytes")
    func binaryRequests() throws {
        for transcript in try Transcript.all() {
            for exchange in transcript.exchanges {
                guard case .binary = exchange.response else { continue }
                let bytes = exchange.request
                let frame = try #require(try RequestFrame.parse(bytes.span.bytes))
                let headEnd = 24 + Int(frame.headByteCount)
                #expect(UInt64(bytes.count) == UInt64(headEnd) + frame.bodyByteCount)
                var composed: [UInt8] = []
                frame.compose(into: &composed)
                let head = Array(bytes[24..<headEnd])
                let recomposed = frame.operation.flatMap {
                    recompose(head: head, of: $0, flags: frame.flags)
                }
                composed += recomposed ?? head
                composed += bytes[headEnd...]
                #expect(composed == bytes, "\(transcript.title)")
                let isErrorExpected = transcript.title.contains("error")
                #expect(recomposed != nil || isErrorExpected, "\(transcript.title)")
            }
        }
    }

    @Test("Each binary response is framed as it says, and composes to the same bytes")
    func binaryResponses() throws {
        for transcript in try Transcript.all() {
            for exchange in transcript.exchanges {
                guard case .binary(let pattern) = exchange.response else { continue }
                let bytes = pattern.filled()
                let frame = try #require(try ResponseFrame.parse(bytes.span.bytes))
                let request = try #require(try RequestFrame.parse(exchange.request.span.bytes))
                #expect(frame.opcode == request.opcode && frame.requestID == request.requestID)
                if frame.status >= 400 { #expect(frame.headByteCount == 0) }
                guard !pattern.isOpen else { continue }
                let headEnd = 24 + Int(frame.headByteCount)
                #expect(UInt64(bytes.count) == UInt64(headEnd) + frame.bodyByteCount)
                let head = Array(bytes[24..<headEnd])
                guard frame.status < 400 else { continue }
                let recomposed = try recompose(
                    responseHead: head, of: #require(request.operation))
                #expect(recomposed == head, "\(transcript.title)")
            }
        }
    }

    @Test("Errors that the codecs find are worded as in the transcripts")
    func problems() throws {
        var count = 0
        for transcript in try Transcript.all() {
            for exchange in transcript.exchanges {
                guard let problem = problem(of: exchange.request) else { continue }
                count += 1
                var body: [UInt8] = []
                Problem.compose(problem, into: &body)
                switch exchange.response {
                case .binary(let pattern):
                    let status = ResponseFrame(
                        opcode: exchange.request[1], status: problem.status,
                        requestID: UInt32(exchange.request[4]), headByteCount: 0,
                        bodyByteCount: UInt64(body.count))
                    var frame: [UInt8] = []
                    status.compose(into: &frame)
                    #expect(pattern.matches(frame + body), "\(transcript.title)")
                case .http(let pattern):
                    #expect(pattern.statusLine.contains(" \(problem.status) "))
                    #expect(pattern.body == nil || pattern.body.map { Array($0.utf8) } == body)
                }
            }
        }
        #expect(count == 3)
    }

    @Test("Each HTTP request that gets a good answer parses and is consumed whole")
    func httpRequests() throws {
        for transcript in try Transcript.all() {
            for exchange in transcript.exchanges {
                guard case .http(let pattern) = exchange.response else { continue }
                let bytes = exchange.request
                guard case .head(let head, let consumed) = parseHead(bytes) else {
                    #expect(pattern.statusLine.contains("400"))
                    continue
                }
                let body = Array(bytes[consumed...])
                if head.isChunked {
                    let decoded = ChunkedDecoderTests.decode(body)
                    #expect(decoded.isComplete && decoded.rest == 0)
                } else {
                    #expect(UInt64(body.count) == head.contentLength ?? 0)
                }
            }
        }
    }

    @Test("The document lists every code with its status, and no other")
    func codes() throws {
        let document = Files.text("\(Files.package)/docs/ERRORS.md")
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
        let document = Files.text("\(Files.package)/docs/ERRORS.md")
        for row in [
            "| HTTP: request line | 8,192 bytes", "| HTTP: header section | 16,384 bytes",
            "| HTTP: field lines | 100, of them 4", "| notification id | 1…255 bytes",
            "| part name | 1…64 bytes", "| message | 0…4,096 bytes", "| unanswered requests | 64 ",
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

    /// What the codecs find wrong with a request, or nil.
    private func problem(of request: [UInt8]) -> ProtocolError? {
        do throws(ProtocolError) {
            guard request[0] == Wire.requestMagic else {
                _ = try HTTPRequestHead.parse(request.span.bytes)
                return nil
            }
            guard let frame = try? RequestFrame.parse(request.span.bytes),
                let operation = frame.operation
            else { return nil }
            let head = Array(request[24..<(24 + Int(frame.headByteCount))])
            _ = try recomposed(head: head, of: operation, flags: frame.flags)
            return nil
        } catch {
            return error
        }
    }
}
