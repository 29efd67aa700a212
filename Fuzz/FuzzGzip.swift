// Feeds arbitrary bytes to the decoder of gzip codings. Compiled by Scripts/fuzz together with
// GzipDecoder.swift alone, whose errors are declared here.
//
// The properties: nothing traps; a coding reads the same however it is cut; no more comes out than
// may; what is accepted as one member ends with its own checksum and length; what is made by zlib is
// read back.

internal import CZlib

/// The errors that the decoder throws.
enum StoreError: Error, Equatable {
    case invalid(InvalidInput)
    case io(operation: String, errno: Int32)
}

/// What is wrong with a coding.
struct InvalidInput: Equatable {
    enum Field { case contentCoding, payload }

    var field: Field
    var reason: String
}

/// Called by libFuzzer with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzGzip(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard count > 0 else { return 0 }
    // libFuzzer's input lives for the length of this call.
    let all = UnsafeRawBufferPointer(start: start, count: count).bytes
    let bytes = array(all.extracting(droppingFirst: 1))
    let choice = all.unsafeLoad(fromByteOffset: 0, as: UInt8.self)
    // The bytes themselves; after a plain header; and what zlib makes of them, perhaps twice.
    switch choice & 3 {
    case 0: check(bytes)
    case 1: check([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3] + bytes)
    case 2:
        let outcome = check(gzip(bytes))
        precondition(outcome.bytes == bytes && outcome.memberCount == 1)
    default:
        let half = bytes.count / 2
        let outcome = check(gzip(Array(bytes[..<half])) + gzip(Array(bytes[half...])))
        precondition(outcome.bytes == bytes && outcome.memberCount == 2)
    }
    return 0
}

private struct Outcome: Equatable {
    var bytes: [UInt8] = []
    var memberCount = 0
    var error: StoreError?
}

private let byteCountMax = 1 << 20

@discardableResult
private func check(_ bytes: [UInt8]) -> Outcome {
    let whole = decode(bytes, step: .max, byteCountMax: byteCountMax)
    for step in [1, 2, 7, 64] where step < bytes.count || step == 1 {
        let pieces = decode(bytes, step: step, byteCountMax: byteCountMax)
        precondition((pieces.error == nil) == (whole.error == nil), "pieces end otherwise")
        precondition(pieces.error != nil || pieces == whole, "pieces decode to something else")
    }
    precondition(whole.bytes.count <= byteCountMax)
    guard whole.error == nil else { return whole }
    if whole.memberCount == 1 {
        let end = bytes.suffix(8).map { UInt32($0) }
        let checksum = end[0] | end[1] << 8 | end[2] << 16 | end[3] << 24
        let length = end[4] | end[5] << 8 | end[6] << 16 | end[7] << 24
        precondition(UInt32(crc32(0, whole.bytes, UInt32(whole.bytes.count))) == checksum)
        precondition(UInt32(truncatingIfNeeded: whole.bytes.count) == length)
    }
    if !whole.bytes.isEmpty {
        let limit = whole.bytes.count - 1
        let cut = decode(bytes, step: .max, byteCountMax: limit)
        guard case .invalid(let input) = cut.error, input.field == .payload else {
            preconditionFailure("more than the limit comes out")
        }
        precondition(cut.bytes.count <= limit)
    }
    return whole
}

private func decode(_ bytes: [UInt8], step: Int, byteCountMax: Int) -> Outcome {
    var outcome = Outcome()
    do throws(StoreError) {
        let decoder = try GzipDecoder(byteCountMax: byteCountMax)
        var index = 0
        while index < bytes.count {
            let end = index + min(step, bytes.count - index)
            let piece = Array(bytes[index..<end])
            try decoder.decode(piece.span.bytes) { (out) throws(StoreError) in
                precondition(out.byteCount > 0 && out.byteCount <= GzipDecoder.pieceByteCount)
                outcome.bytes += array(out)
            }
            index = end
        }
        try decoder.finish()
        outcome.memberCount = decoder.memberCount
        precondition(decoder.byteCount == outcome.bytes.count)
    } catch {
        outcome.error = error
    }
    return outcome
}

private func array(_ bytes: RawSpan) -> [UInt8] {
    bytes.withUnsafeBytes { Array($0) }
}

private func gzip(_ bytes: [UInt8]) -> [UInt8] {
    var stream = z_stream()
    let code = deflateInit2_(
        &stream, 1, Z_DEFLATED, 16 + 15, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
        Int32(MemoryLayout<z_stream>.size))
    precondition(code == Z_OK)
    var input = bytes
    var output = [UInt8](repeating: 0, count: bytes.count + bytes.count / 100 + 256)
    let count = output.count
    input.withUnsafeMutableBufferPointer { source in
        output.withUnsafeMutableBufferPointer { target in
            stream.next_in = source.baseAddress
            stream.avail_in = UInt32(source.count)
            stream.next_out = target.baseAddress
            stream.avail_out = UInt32(count)
            precondition(deflate(&stream, Z_FINISH) == Z_STREAM_END)
        }
    }
    output.removeLast(Int(stream.avail_out))
    deflateEnd(&stream)
    return output
}
