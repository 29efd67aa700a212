// Feeds arbitrary bytes to the codecs of the binary protocol. Compiled together with the sources of
// BlobProtocol by Scripts/fuzz.
//
// The properties: nothing traps; a header in pieces reads as the whole does; what parses composes back
// to the same bytes; slices lie within the head; the fetch that is recognised by its words is the one
// that the parsers find.

import Bytes
import Notifications

/// Called by libFuzzer with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzBinary(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    // libFuzzer's input lives for the length of this call.
    let bytes = UnsafeRawBufferPointer(start: start, count: count).bytes
    checkRequests(bytes)
    checkResponses(bytes)
    checkHeads(bytes)
    return 0
}

/// Requests one after another, as on a connection.
private func checkRequests(_ bytes: RawSpan) {
    var offset = 0
    while true {
        let rest = bytes.extracting(droppingFirst: offset)
        let frame: RequestFrame?
        do {
            frame = try RequestFrame.parse(rest)
        } catch {
            precondition(error.problem.status == 400)
            return
        }
        for length in 0..<min(rest.byteCount, Wire.frameHeaderByteCount) {
            let piece = try? RequestFrame.parse(rest.extracting(first: length))
            precondition(piece == .some(.none), "a piece of a header is read as something")
        }
        guard let frame else { return }
        var composed: [UInt8] = []
        frame.compose(into: &composed)
        precondition(composed.span.bytes.equals(rest.extracting(first: 24)))
        let end = 24 + Int(frame.headByteCount)
        guard rest.byteCount >= end else {
            precondition(PlainGet(rest) == nil, "half a frame is recognised")
            return
        }
        if let get = PlainGet(rest) { check(get, frame, rest.extracting(24..<end)) }
        if let operation = frame.operation {
            checkRequestHead(rest.extracting(24..<end), operation, frame.flags)
        }
        guard frame.bodyByteCount <= UInt64(rest.byteCount - end) else { return }
        offset += end + Int(frame.bodyByteCount)
    }
}

private func check(_ get: PlainGet, _ frame: RequestFrame, _ head: RawSpan) {
    precondition(frame.operation == .get && frame.requestID == get.requestID)
    precondition(frame.bodyByteCount == 0 && get.byteCount == 24 + head.byteCount)
    precondition(frame.flags == (get.acceptsGzip ? .gzipAccepted : []))
    do {
        let request = try Get.Request.parse(head, flags: frame.flags)
        precondition(request.part.isEmpty && request.range == nil)
        precondition(request.id.offset + 24 == get.id.offset && request.id.count == get.id.count)
    } catch {
        precondition(error.code == .badID, "what is recognised has a fault that is not the id's")
    }
}

private func checkResponses(_ bytes: RawSpan) {
    guard let frame = try? ResponseFrame.parse(bytes) else { return }
    var composed: [UInt8] = []
    frame.compose(into: &composed)
    precondition(composed.span.bytes.equals(bytes.extracting(first: 24)))
}

/// Every head from the same bytes: the first says which and with what flags.
private func checkHeads(_ bytes: RawSpan) {
    guard bytes.byteCount >= 2 else { return }
    let head = bytes.extracting(droppingFirst: 2)
    let flags = RequestFlags(rawValue: UInt16(bytes.byte(1)))
    for operation in Opcode.allCases where operation.rawValue == bytes.byte(0) & 15 {
        checkRequestHead(head, operation, flags.intersection(operation.knownFlags))
    }
    checkResponseHeads(head)
}

/// Parses a request's head; when it is a good one, composes it again and compares.
private func checkRequestHead(_ head: RawSpan, _ operation: Opcode, _ flags: RequestFlags) {
    var out: [UInt8] = []
    do {
        switch operation {
        case .hello: try Hello.Request.parse(head).compose(into: &out)
        case .ping: try Ping.check(head)
        case .put:
            let request = try Put.Request.parse(head, flags: flags)
            let draft = Put.Draft(request)
            precondition(draft.flags == flags.subtracting(.replicated))
            try! draft.compose(into: &out)
        case .get:
            let request = try Get.Request.parse(head, flags: flags)
            precondition(request.part.end <= head.byteCount)
            precondition(flags.contains(.rangeGiven) == (request.range != nil))
            guard !flags.contains(.digestGiven) else {
                try! Get.Request.compose(
                    digest: request.id.of(head), range: request.range, into: &out)
                break
            }
            try! Get.Request.compose(
                id: request.id.of(head).text(), part: request.part.of(head).text(),
                range: request.range,
                into: &out)
        case .call:
            let request = try Call.Request.parse(head, flags: flags)
            var said = request.condition.flags
            if request.isWatch { said.insert(.watch) }
            if request.coding == .gzip { said.insert(.bodyIsGzip) }
            precondition(said == flags.subtracting(.replicated))
            let (path, query) = request.split(head)
            precondition(path.end <= request.target.end && query.end <= request.target.end)
            try! Call.Request.compose(
                request.method, target: request.target.of(head).text(),
                device: request.device?.text, mediaType: request.mediaType?.text,
                condition: request.condition,
                into: &out)
        }
    } catch {
        precondition(error.status == 400 && !error.detail.isEmpty)
        return
    }
    precondition(out.span.bytes.equals(head), "\(operation) composes to other bytes")
}

private func checkResponseHeads(_ head: RawSpan) {
    var out: [UInt8] = []
    if let response = try? Hello.Response.parse(head) {
        response.compose(
            storeID: response.storeID.of(head), serverVersion: response.serverVersion.of(head),
            into: &out)
        precondition(out.span.bytes.equals(head))
    }
    if let response = try? Put.Response.parse(head) {
        out = []
        response.compose(digest: response.digest.of(head), id: response.id.of(head), into: &out)
        precondition(out.span.bytes.equals(head))
    }
    if let response = try? Get.Response.parse(head) {
        out = []
        response.compose(
            digest: response.digest.of(head), mediaType: response.mediaType.of(head), into: &out)
        precondition(out.span.bytes.equals(head))
    }
    if let response = try? Call.Response.parse(head) {
        out = []
        Call.Response.compose(
            revision: response.revision, mediaType: response.mediaType.of(head),
            location: response.location.of(head), into: &out)
        precondition(out.span.bytes.equals(head))
    }
}
