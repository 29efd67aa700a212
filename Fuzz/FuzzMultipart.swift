// Feeds arbitrary bytes to the multipart parser. Compiled together with the sources of BlobProtocol
// by Scripts/fuzz.
//
// The properties: nothing traps; a body gives the same parts however it is cut, and the same error;
// slices lie within what was given; a part's bytes have no delimiter; every call that does not ask
// for more uses something; what is asked for again is never more than 8 KiB.

import Bytes

/// Called by libFuzzer with each input: a media type in its first line, then the body.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzMultipart(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    // libFuzzer's input lives for the length of this call.
    let bytes = UnsafeRawBufferPointer(start: start, count: count).bytes
    var lineEnd = 0
    while lineEnd < count, bytes.byte(lineEnd) != 0x0A { lineEnd += 1 }
    let type = bytes.extracting(first: lineEnd)
    let body = bytes.extracting(droppingFirst: min(lineEnd + 1, count)).array()
    do throws(ProtocolError) {
        let boundary = try MultipartParser.boundary(of: type)
        precondition((1...70).contains(boundary.count) && boundary.last != 0x20)
        check(body, boundary)
    } catch {
        precondition(error.code == .badMultipart && !error.detail.isEmpty)
    }
    // Most inputs name no boundary.
    check(body, [UInt8(ascii: "b")])
    return 0
}

private func check(_ body: [UInt8], _ boundary: [UInt8]) {
    let whole = read(body, boundary, step: .max)
    for step in [1, 2, 7, 100] {
        precondition(read(body, boundary, step: step) == whole, "a body reads otherwise in pieces")
    }
    let delimiter = Array("\r\n--".utf8) + boundary
    for part in whole.parts { precondition(!part.bytes.contains(sequence: delimiter)) }
}

private struct Outcome: Equatable {
    struct Part: Equatable {
        var head: MultipartHead
        var bytes: [UInt8] = []
        var isEnded = false
    }
    var parts: [Part] = []
    var isComplete = false
    var problem: ProtocolError?
}

private func read(_ body: [UInt8], _ boundary: [UInt8], step: Int) -> Outcome {
    var outcome = Outcome()
    var parser = MultipartParser(boundary: boundary)
    // Where the parser is, and up to where it has been given something.
    var used = 0
    var given = 0
    do throws(ProtocolError) {
        while given < body.count {
            given += min(step, body.count - given)
            while used < given {
                let rest = body.span.bytes.extracting(used..<given)
                let (found, consumed) = try parser.next(rest)
                precondition(consumed >= 0 && consumed <= rest.byteCount)
                used += consumed
                if found == .needsMore {
                    precondition(given - used <= 8_192)
                    break
                }
                precondition(consumed > 0)
                switch found {
                case .needsMore, .end: break
                case .part(let head):
                    precondition(!head.name.isEmpty)
                    outcome.parts.append(Outcome.Part(head: head))
                case .bytes(let slice):
                    precondition(!slice.isEmpty && slice.end <= consumed)
                    outcome.parts[outcome.parts.count - 1].bytes.append(
                        contentsOf: slice.of(rest))
                case .partEnd: outcome.parts[outcome.parts.count - 1].isEnded = true
                }
            }
        }
    } catch {
        outcome.problem = error
    }
    outcome.isComplete = parser.isComplete
    return outcome
}

extension [UInt8] {
    fileprivate func contains(sequence: [UInt8]) -> Bool {
        var index = 0
        while index + sequence.count <= count {
            if self[index] == sequence[0], self[index..<(index + sequence.count)] == sequence[...] {
                return true
            }
            index += 1
        }
        return false
    }
}
