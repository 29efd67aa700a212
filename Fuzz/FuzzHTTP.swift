// Feeds arbitrary bytes to the HTTP/1.1 parsers. Compiled together with the sources of BlobProtocol by
// Scripts/fuzz.
//
// The properties: nothing traps; a head reads the same however it is cut; slices lie within it; a
// chunked body gives the same payload however it is cut; what is decoded or formatted reads back.

import Bytes
import Notifications

/// Called by libFuzzer with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHTTP(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard count > 0 else { return 0 }
    // libFuzzer's input lives for the length of this call.
    let all = UnsafeRawBufferPointer(start: start, count: count).bytes
    let bytes = all.extracting(droppingFirst: 1)
    switch all.byte(0) & 3 {
    case 0, 1: checkHead(bytes)
    case 2:
        checkChunks(bytes)
        checkTrailers(bytes)
    default: checkTexts(bytes)
    }
    return 0
}

private func checkHead(_ bytes: RawSpan) {
    var whole: (head: HTTPRequestHead, consumed: Int)?
    var problem: ProtocolError?
    do { whole = try HTTPRequestHead.parse(bytes) } catch { problem = error }

    for step in [1, 3, 7, 64] {
        var scanner = HeadScanner()
        var pieced: (head: HTTPRequestHead, consumed: Int)?
        var failed = false
        var length = 0
        while pieced == nil, !failed, length < bytes.byteCount {
            length = min(length + step, bytes.byteCount)
            do {
                var head = HTTPRequestHead()
                pieced = try head.read(bytes.extracting(first: length), resuming: &scanner).map {
                    (head, $0)
                }
            } catch {
                failed = true
            }
        }
        if let whole {
            precondition(!failed && pieced?.head == whole.head)
            precondition(pieced?.consumed == whole.consumed)
        } else {
            precondition(pieced == nil, "pieces make a head where the whole makes none")
            precondition(problem != nil || !failed, "pieces are refused, the whole is not")
        }
    }
    if let whole { checkSlices(whole.head, bytes.extracting(first: whole.consumed)) }
    checkPrefixes(bytes, whole)
    if let whole, whole.head.isChunked {
        checkChunks(bytes.extracting(droppingFirst: whole.consumed))
    }
}

/// A piece of a head is no head, and what comes after a head does not change it: words of many bytes
/// are read, some over the end of what they are about.
private func checkPrefixes(
    _ bytes: RawSpan, _ whole: (head: HTTPRequestHead, consumed: Int)?
) {
    let end = whole?.consumed ?? min(bytes.byteCount, 512)
    for length in 0..<min(end, 512) {
        do {
            let piece = try HTTPRequestHead.parse(bytes.extracting(first: length))
            precondition(piece == nil, "a piece of a head is one")
        } catch {
            precondition(whole == nil, "a piece of a head is refused")
        }
    }
    guard let whole else { return }
    for length in end...min(bytes.byteCount, end + 40) {
        let longer = try? HTTPRequestHead.parse(bytes.extracting(first: length))
        precondition(longer?.head == whole.head && longer?.consumed == end)
    }
}

private func checkSlices(_ head: HTTPRequestHead, _ bytes: RawSpan) {
    let end = bytes.byteCount
    precondition(head.target.end <= end && head.path.end <= end && head.query.end <= end)
    for slice in [head.contentType, head.contentEncoding, head.ifRange] {
        precondition((slice?.end ?? 0) <= end)
    }
    precondition(!(head.isChunked && head.contentLength != nil))
    let tag: [UInt8] = Array("\"sha256:00\"".utf8)
    _ = EntityTags.match(head.ifNoneMatch, in: bytes, tag: tag.span.bytes, .weak)
    _ = EntityTags.match(head.ifMatch, in: bytes, tag: tag.span.bytes, .strong)
    for length: UInt64 in [0, 1, 1_000, .max] {
        if case .partial(let lower, let upper) = head.range?.resolve(byteCount: length) {
            precondition(lower < upper && upper <= length)
        }
    }
    checkPath(head.path.of(bytes))
    checkQuery(head.query.of(bytes))
}

private func checkQuery(_ query: RawSpan) {
    var parameters = QueryParameters()
    while let (name, value) = try? parameters.next(query) {
        precondition(name.end <= query.byteCount && value.end <= query.byteCount)
    }
}

private let patterns = [
    PathPattern("/v1/notifications/{id}"), PathPattern("/v1/notifications/{id}/parts/{name}"),
]

private func checkPath(_ path: RawSpan) {
    let count = PathPattern.segmentCount(of: path)
    for pattern in patterns {
        guard let match = pattern.match(path, segmentCount: count) else { continue }
        let id = match.first
        precondition(id.end <= path.byteCount && !id.isEmpty)
        precondition(match.second.end <= path.byteCount)
        var decoded: [UInt8] = []
        guard (try? PercentCoding.decode(id.of(path), into: &decoded)) != nil else { return }
        _ = try? TextKind.id.check(decoded.span.bytes)
        var encoded: [UInt8] = []
        PercentCoding.encode(decoded.span.bytes, into: &encoded)
        var again: [UInt8] = []
        try! PercentCoding.decode(encoded.span.bytes, into: &again)
        precondition(again == decoded)
    }
    switch PayloadPath.parse(path) {
    case .part(let id, let name), .link(let id, let name):
        precondition(id.end <= path.byteCount && name.end <= path.byteCount && !id.isEmpty)
    case .blob(let digest): _ = try? Digest(onWire: digest.of(path))
    case nil: break
    }
}

/// Decodes a body in one piece, byte by byte and in other steps, and compares.
private func checkChunks(_ bytes: RawSpan) {
    let whole = decode(bytes, step: .max)
    for step in [1, 2, 5, 13] {
        precondition(decode(bytes, step: step) == whole, "chunks read otherwise in pieces")
    }
}

/// The bytes as a trailer section: what is taken has a colon after a token in every line.
private func checkTrailers(_ bytes: RawSpan) {
    let start = Array("0\r\n".utf8)
    let body = start + bytes.array()
    let outcome = decode(body.span.bytes, step: .max)
    guard outcome.isComplete else { return }
    var line: [UInt8] = []
    for byte in body[start.count..<outcome.consumed - 2] {
        line.append(byte)
        guard byte == 0x0A else { continue }
        precondition(line.count > 3 && line[line.count - 2] == 0x0D)
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
            preconditionFailure("a trailer line without a colon is taken")
        }
        precondition(colon > 0 && line[..<colon].allSatisfy { Token.isToken($0) })
        line = []
    }
    precondition(line.isEmpty)
}

private struct Decoded: Equatable {
    var payload: [UInt8] = []
    var consumed = 0
    var isComplete = false
    var problem: ProtocolError?
}

private func decode(_ bytes: RawSpan, step: Int) -> Decoded {
    var result = Decoded()
    var decoder = ChunkedDecoder()
    while result.consumed < bytes.byteCount, !result.isComplete {
        let count = min(step, bytes.byteCount - result.consumed)
        let rest = bytes.extracting(result.consumed..<(result.consumed + count))
        do {
            let found = try decoder.next(rest)
            precondition(found.consumed > 0 && found.payload.end <= found.consumed)
            result.payload.append(contentsOf: found.payload.of(rest))
            precondition(found.isComplete ? decoder.announcedByteCount == 0 : true)
            result.consumed += found.consumed
            result.isComplete = found.isComplete
        } catch {
            // Where the fault was met depends on the pieces; what it is does not.
            result.consumed = -1
            result.problem = error
            return result
        }
    }
    return result
}

/// The small parsers, each with the whole input.
/// Keys that no input knows: no link is valid, and none changes what another one is.
nonisolated(unsafe) private let keys = try? SigningKeys(
    parsing: Array("fuzz \(String(repeating: "AB", count: 22))".utf8))

private func checkLink(_ bytes: RawSpan) {
    guard let keys else { preconditionFailure("the keys are right") }
    let end = bytes.index(of: UInt8(ascii: "?"))
    let query = bytes.extracting(droppingFirst: min(end + 1, bytes.byteCount))
    precondition(
        SignedLink.expiry(
            path: bytes.extracting(first: end), query: query, now: 0, keys: keys) == nil)
    _ = try? SigningKeys(parsing: bytes.array())
    if let decoded = Base64.decode(bytes.array()) {
        var text: [UInt8] = []
        Base64.appendURL(decoded.span.bytes, to: &text)
        precondition(Base64.decode(text) == decoded)
    }
}

private func checkTexts(_ bytes: RawSpan) {
    checkLink(bytes)
    _ = try? TextKind.mediaType.check(bytes)
    _ = MediaRanges.names("text/event-stream", in: bytes)
    if Authority.isValid(bytes) {
        // What is a host is one in a head, too.
        let head = Array("GET / HTTP/1.1\r\nHost: ".utf8) + bytes.array() + Array("\r\n\r\n".utf8)
        precondition((try? HTTPRequestHead.parse(head.span.bytes)) != nil)
    }
    _ = try? TextKind.message.check(bytes)
    _ = Decimal.parse(bytes)
    _ = try? Digest(onWire: bytes)
    checkQuery(bytes)
    checkPath(bytes)
    if let time = try? RFC3339.parse(bytes) {
        var text: [UInt8] = []
        RFC3339.append(time, to: &text)
        precondition((try? RFC3339.parse(text.span.bytes)) == time)
    }
    let text = String(validating: bytes.array(), as: UTF8.self)
    let isText = text?.unicodeScalars.allSatisfy {
        ($0.value >= 0x20 && !(0x7F...0x9F).contains($0.value)) || [9, 10, 13].contains($0.value)
    }
    let fault = UTF8Text.fault(in: bytes, allowingBreaks: true)
    precondition((fault == nil) == (isText == true), "UTF-8 is judged otherwise")
    let tag: [UInt8] = Array("\"a\"".utf8)
    _ = EntityTags.match(bytes, tag: tag.span.bytes, .weak)
}
