import Bytes

/// Which codings of an answer a client takes (RFC 9110, section 12.5.3). Several field lines add
/// up. Weights are in thousandths.
public struct AcceptEncoding: Sendable, Hashable {
    private var gzip: Int16 = -1
    private var identity: Int16 = -1
    private var any: Int16 = -1

    init() {}

    /// Whether gzip may be sent. Without the field any coding might be, but a client that says
    /// nothing is often one that cannot inflate: it gets none.
    public var acceptsGzip: Bool { gzipWeight > 0 }

    /// Whether the bytes may be sent as they are: unless `identity;q=0` says no, or `*;q=0` does
    /// and nothing else speaks of identity.
    public var acceptsIdentity: Bool {
        identity >= 0 ? identity > 0 : any != 0
    }

    /// Whether gzip is what to send when both are at hand: accepted, and not liked less than
    /// identity.
    public var prefersGzip: Bool {
        acceptsGzip && gzipWeight >= identity
    }

    private var gzipWeight: Int16 { gzip >= 0 ? gzip : any }

    /// Takes note of one field line. Elements that are malformed are passed over.
    mutating func add(_ text: RawSpan) {
        var index = 0
        while index < text.byteCount {
            // Most codings that are named are others.
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
        // The same coding twice: the greater weight, whichever comes first.
        if coding.equalsIgnoringCase("gzip") || coding.equalsIgnoringCase("x-gzip") {
            gzip = max(gzip, weight)
        } else if coding.equalsIgnoringCase("identity") {
            identity = max(identity, weight)
        } else if coding.equals("*") {
            any = max(any, weight)
        }
    }
}
