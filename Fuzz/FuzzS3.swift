// Feeds arbitrary bytes to what reads the answers of object stores. Compiled together with sources of ObjectStore by
// Scripts/fuzz.
//
// The properties: nothing traps; a listing has keys in order, below its prefix; what is kept of an answer is bounded;
// addresses that are taken are taken again as they are written.

/// Called by libFuzzer with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzS3(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    _ = ErrorDocument(bytes)
    checkListing(bytes)
    checkAnswer(bytes)
    let text = String(decoding: bytes, as: UTF8.self)
    if let range = ContentRange(text) {
        precondition(!range.range.isEmpty && range.range.upperBound <= range.total)
    }
    if let seconds = ServerDate.seconds(text) { precondition(seconds >= 0) }
    for (name, section) in ProfileFile.parse(text) {
        precondition(section.values.allSatisfy { !$0.isEmpty }, name)
    }
    if let words = CommandWords.split(text) { precondition(words.first?.isEmpty == false) }
    if let document = try? CredentialsDocument.parse(bytes, of: ""),
        let credentials = try? CredentialsDocument.credentials(
            of: "", at: "", document, token: "Token")
    {
        precondition(!credentials.accessKeyID.isEmpty && !credentials.secretAccessKey.isEmpty)
    }
    if let url = try? ObjectStoreURL(text) {
        precondition((try? ObjectStoreURL(url.description)) == url)
    }
    if let endpoint = try? Endpoint(text) {
        precondition((try? Endpoint(endpoint.description)) == endpoint)
    }
    return 0
}

private func checkListing(_ bytes: [UInt8]) {
    guard
        case .success(let page) = ObjectListPage.parse(
            bytes, prefix: "p/l", droppedByteCount: 2, startAfter: nil)
    else { return }
    for (one, other) in zip(page.objects, page.objects.dropFirst()) {
        precondition(one.key.utf8.lexicographicallyPrecedes(other.key.utf8))
    }
    precondition(page.objects.allSatisfy { $0.key.utf8.first == UInt8(ascii: "l") })
    precondition(page.objects.allSatisfy { $0.byteCount >= 0 })
}

/// The bytes as an answer: lines up to an empty one, then a body in pieces of seven bytes.
private func checkAnswer(_ bytes: [UInt8]) {
    var limits = ObjectStoreLimits()
    limits.headerByteCountMax = 500
    limits.errorByteCountMax = 100
    for hasSink in [false, true] {
        var taken = 0
        let answer = HTTPAnswer(
            limits, byteCountMax: 200,
            sink: hasSink
                ? { piece in taken += piece.byteCount } : nil)
        var index = 0
        var isBody = false
        while index < bytes.count {
            let line = bytes[index...].prefix { $0 != 0x0A }
            let end = isBody ? min(index + 7, bytes.count) : min(line.endIndex + 1, bytes.count)
            let piece = Array(bytes[index..<end])
            guard
                isBody
                    ? answer.receive(body: piece.span.bytes)
                    : answer.receive(line: piece.span.bytes)
            else { break }
            isBody = isBody || (answer.isHeadWhole && line.allSatisfy { $0 == 0x0D })
            index = end
        }
        precondition(taken <= 200 && answer.kept.count <= 200)
        precondition((0...86_400_000).contains(answer.retryAfterMilliseconds))
    }
}
