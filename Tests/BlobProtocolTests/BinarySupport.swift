import BlobProtocol
import Bytes
import Notifications

/// Parses a request's head and composes what came out. Throws what the parser throws.
func recomposed(
    head bytes: [UInt8], of operation: Opcode, flags: RequestFlags
) throws(ProtocolError) -> [UInt8] {
    let head = bytes.span.bytes
    var out: [UInt8] = []
    switch operation {
    case .hello:
        try Hello.Request.parse(head, flags: flags).compose(into: &out)
    case .ping:
        try Ping.check(head)
    case .put:
        let request = try Put.Request.parse(head, flags: flags)
        try Put.Draft(request).compose(into: &out)
    case .get where flags.contains(.digestGiven):
        let request = try Get.Request.parse(head, flags: flags)
        try Get.Request.compose(
            digest: request.id.of(head), range: request.range, into: &out)
    case .get:
        let request = try Get.Request.parse(head, flags: flags)
        try Get.Request.compose(
            id: request.id.of(head).text(), part: request.part.of(head).text(),
            range: request.range, into: &out)
    case .call:
        let request = try Call.Request.parse(head, flags: flags)
        try Call.Request.compose(
            request.method, target: request.target.of(head).text(),
            device: request.device?.text, mediaType: request.mediaType?.text,
            condition: request.condition, into: &out)
    }
    return out
}

/// The same, or nil when the head is refused.
func recompose(head: [UInt8], of operation: Opcode, flags: RequestFlags) -> [UInt8]? {
    try? recomposed(head: head, of: operation, flags: flags)
}

/// Parses the head of a good response and composes what came out.
func recompose(responseHead bytes: [UInt8], of operation: Opcode) throws -> [UInt8] {
    let head = bytes.span.bytes
    var out: [UInt8] = []
    switch operation {
    case .hello:
        let response = try Hello.Response.parse(head)
        response.compose(
            storeID: response.storeID.of(head), serverVersion: response.serverVersion.of(head),
            into: &out)
    case .put:
        let response = try Put.Response.parse(head)
        response.compose(digest: response.digest.of(head), id: response.id.of(head), into: &out)
    case .get:
        let response = try Get.Response.parse(head)
        response.compose(
            digest: response.digest.of(head), mediaType: response.mediaType.of(head), into: &out)
    case .call:
        let response = try Call.Response.parse(head)
        Call.Response.compose(
            revision: response.revision, mediaType: response.mediaType.of(head),
            location: response.location.of(head), into: &out)
    default: break
    }
    return out
}
