/// The values of up to four field lines of one name, which together are one list (RFC 9110, section
/// 5.3). Held in place, without an allocation.
public struct FieldLines: Sendable, Hashable {
    private var first = Slice.empty
    private var second = Slice.empty
    private var third = Slice.empty
    private var fourth = Slice.empty

    /// No line.
    public init() {}

    /// How many lines there were; 0 when the field is absent.
    public private(set) var count = 0

    /// Whether the field is absent.
    public var isEmpty: Bool { count == 0 }

    /// The value of one line, without the blanks around it; an empty slice past the last one.
    public subscript(index: Int) -> Slice {
        switch index {
        case 0: first
        case 1: second
        case 2: third
        case 3: fourth
        default: .empty
        }
    }

    /// Adds a line. Throws `headers_too_large` when there are four already.
    mutating func append(_ value: Slice, name: StaticString) throws(ProtocolError) {
        switch count {
        case 0: first = value
        case 1: second = value
        case 2: third = value
        case 3: fourth = value
        default:
            let max = WireLimits.conditionLineCountMax
            throw ProtocolError(
                .headersTooLarge, "too many field lines of \(name); the limit is \(max)", limit: max
            )
        }
        count += 1
    }
}
