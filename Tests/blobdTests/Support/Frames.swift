import BlobProtocol
import TestSupport

/// A response frame as a test sees it.
struct FrameAnswer {
    var frame: ResponseFrame
    var head: [UInt8]
    var body: [UInt8]

    var status: UInt16 { frame.status }
    var text: String { String(decoding: body, as: UTF8.self) }
    /// The `code` of a problem document.
    var code: String? { jsonMember(text, "code") }
}

/// A request frame with any head and body.
func frame(
    _ opcode: Opcode, flags: RequestFlags = [], id: UInt32 = 0, head: [UInt8] = [],
    body: [UInt8] = []
) -> [UInt8] {
    var bytes: [UInt8] = []
    RequestFrame(
        opcode, flags: flags, requestID: id, headByteCount: UInt32(head.count),
        bodyByteCount: UInt64(body.count)
    ).compose(into: &bytes)
    return bytes + head + body
}

/// The hello that begins every binary connection.
let helloFrame: [UInt8] = {
    var head: [UInt8] = []
    Hello.Request().compose(into: &head)
    return frame(.hello, head: head)
}()

func getFrame(
    _ id: String, acceptsGzip: Bool = false, range: WireRange? = nil, requestID: UInt32 = 0
) throws -> [UInt8] {
    var head: [UInt8] = []
    try Get.Request.compose(id: id, range: range, into: &head)
    return frame(
        .get, flags: Get.flags(acceptsGzip: acceptsGzip, range: range), id: requestID, head: head)
}

func putFrame(
    _ draft: Put.Draft, body: [UInt8], requestID: UInt32 = 0
) throws -> [UInt8] {
    var head: [UInt8] = []
    try draft.compose(into: &head)
    return frame(.put, flags: draft.flags, id: requestID, head: head, body: body)
}

extension RawClient {
    /// Receives the next frame.
    func frameAnswer() throws -> FrameAnswer {
        let header = try receive(Wire.frameHeaderByteCount)
        guard let frame = try ResponseFrame.parse(header.span.bytes) else {
            throw TestFailure("half a header")
        }
        let head = try receive(Int(frame.headByteCount))
        let body = try receive(Int(frame.bodyByteCount))
        return FrameAnswer(frame: frame, head: head, body: body)
    }

    /// Sends a frame and receives its answer.
    func exchange(_ bytes: [UInt8]) throws -> FrameAnswer {
        send(bytes)
        return try frameAnswer()
    }
}

extension DaemonProcess {
    /// A binary connection on which hello is done.
    func connectBinary() throws -> RawClient {
        let client = try connect()
        _ = try client.exchange(helloFrame)
        return client
    }
}
