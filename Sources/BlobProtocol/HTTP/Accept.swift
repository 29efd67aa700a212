import Bytes
import Notifications

/// The codings that a client accepts (RFC 9110, section 12.5.3). Weights are in thousandths.
public struct AcceptEncoding: Sendable, Hashable {
    private var gzip: Int16 = -1
    private var identity: Int16 = -1
    private var any: Int16 = -1

    init() {}

    /// False without the field: many clients that do not send it cannot inflate.
    public var acceptsGzip: Bool { gzipWeight > 0 }

    /// False for `identity;q=0`, and for `*;q=0` unless another element names identity.
    public var acceptsIdentity: Bool { identityWeight != 0 }

    /// Whether gzip is accepted, with at least the weight of identity.
    public var prefersGzip: Bool {
        acceptsGzip && gzipWeight >= identityWeight
    }

    private var gzipWeight: Int16 { gzip >= 0 ? gzip : any }

    /// Negative if the field names neither identity nor `*`: it is then accepted, after all that is named.
    private var identityWeight: Int16 { identity >= 0 ? identity : any }

    /// Adds one field line. Malformed elements are ignored.
    mutating func add(_ text: RawSpan) {
        var index = 0
        while index < text.byteCount {
            // Most named codings are others.
            switch text.byte(index) | 0x20 {
            case UInt8(ascii: " "), 0x29: index &+= 1
            case UInt8(ascii: "g"), UInt8(ascii: "x"), UInt8(ascii: "i"), UInt8(ascii: "*"):
                let end = text.index(of: UInt8(ascii: ","), from: index)
                add(element: text.extracting(index..<end))
                index = end &+ 1
            default: index = text.index(of: UInt8(ascii: ","), from: index) &+ 1
            }
        }
    }

    private mutating func add(element item: RawSpan) {
        if item.equalsIgnoringCase("gzip") {
            gzip = 1_000
            return
        }
        let item = Token.trimmed(item, Slice(0, upTo: item.byteCount)).of(item)
        var index = 0
        guard Token.skip(item, &index),
            let weight = QualityValue.weight(item.extracting(droppingFirst: index))
        else { return }
        let coding = item.extracting(first: index)
        // If a coding is repeated, the highest weight applies.
        if coding.equalsIgnoringCase("gzip") || coding.equalsIgnoringCase("x-gzip") {
            gzip = max(gzip, weight)
        } else if coding.equalsIgnoringCase("identity") {
            identity = max(identity, weight)
        } else if coding.equals("*") {
            any = max(any, weight)
        }
    }
}

/// The used part of the value of `Accept` (RFC 9110, section 12.5.1).
package enum MediaRanges {
    /// Whether a list names a media type with a weight other than 0. Wildcards do not match.
    package static func names(_ mediaType: StaticString, in list: RawSpan) -> Bool {
        var elements = ListElements()
        while let element = elements.next(list) {
            let range = list.extracting(element)
            if MediaType.isType(range, mediaType), weight(of: range) > 0 { return true }
        }
        return false
    }

    /// The value of the first parameter called `q`; 0 if the parameters are malformed.
    private static func weight(of range: RawSpan) -> Int16 {
        var parameters = MediaParameters(range)
        do throws(ProtocolError) {
            while let (name, value) = try parameters.next(range) {
                guard name.of(range).equalsIgnoringCase("q") else { continue }
                let text = Array(";q=".utf8) + value
                return QualityValue.weight(text.span.bytes) ?? 0
            }
            return 1_000
        } catch {
            return 0
        }
    }
}

/// The weights of accepted values (RFC 9110, section 12.4.2).
enum QualityValue {
    /// The weight after an element of a list; 1,000 if there is none, nil if it is malformed.
    static func weight(_ text: RawSpan) -> Int16? {
        var index = 0
        Token.skipBlanks(text, &index)
        guard index < text.byteCount else { return 1_000 }
        guard text.byte(index) == UInt8(ascii: ";") else { return nil }
        index += 1
        Token.skipBlanks(text, &index)
        let rest = text.extracting(droppingFirst: index)
        guard rest.hasPrefixIgnoringCase("q="), rest.byteCount >= 3, rest.byteCount <= 7 else {
            return nil
        }
        guard rest.byteCount == 3 || rest.byte(3) == UInt8(ascii: ".") else { return nil }
        var value: Int16
        switch rest.byte(2) {
        case UInt8(ascii: "0"): value = 0
        case UInt8(ascii: "1"): value = 1_000
        default: return nil
        }
        var unit: Int16 = 100
        for offset in 4..<max(rest.byteCount, 4) {
            guard Decimal.isDigit(rest.byte(offset)) else { return nil }
            value += unit * Int16(rest.byte(offset) - 0x30)
            unit /= 10
        }
        return value <= 1_000 ? value : nil
    }
}
