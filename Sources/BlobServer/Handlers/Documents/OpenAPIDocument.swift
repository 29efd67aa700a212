import Bytes
import COpenAPI

/// The answer of `GET /v1/openapi.json`: `docs/openapi.json` with the limits of this daemon. The number before a member
/// `"x-setting"` is replaced by the limit that the option of that name sets.
enum OpenAPIDocument {
    /// Appends the document. Costs a copy of its text, about 130 KiB, and a look at each of its quotes.
    static func append(_ limits: DaemonLimits, to out: inout [UInt8]) {
        let text = RawSpan(
            _unsafeBytes: UnsafeRawBufferPointer(
                start: copenapi_bytes(), count: copenapi_byte_count()))
        let settings: [(member: StaticString, value: Int64)] = [
            (#""x-setting": "--max-payload""#, Int64(limits.payloadByteCountMax)),
            (#""x-setting": "--max-ttl""#, limits.ttlSecondsMax),
        ]
        out.reserveCapacity(text.byteCount + 64)
        var copiedEnd = 0
        var index = text.index(of: UInt8(ascii: "\""))
        while index < text.byteCount {
            for setting in settings
            where index + setting.member.utf8CodeUnitCount <= text.byteCount
                && text.contains(setting.member, at: index)
            {
                let limit = number(before: index, in: text)
                out.append(contentsOf: text.extracting(copiedEnd..<limit.lowerBound))
                out += "\(setting.value)".utf8
                copiedEnd = limit.upperBound
            }
            index = text.index(of: UInt8(ascii: "\""), from: index + 1)
        }
        out.append(contentsOf: text.extracting(droppingFirst: copiedEnd))
    }

    private static func number(before end: Int, in text: RawSpan) -> Range<Int> {
        func isDigit(_ index: Int) -> Bool {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(text.byte(index))
        }
        var upper = end
        while !isDigit(upper - 1) { upper -= 1 }
        var lower = upper
        while isDigit(lower - 1) { lower -= 1 }
        return lower..<upper
    }
}
