import BlobProtocol
import BlobStore
import Bytes
import Notifications

/// The decoded parameters of a query. An invalid value throws the error code of its kind.
struct EndpointQuery {
    private var parameters: [(name: Slice, value: Slice)] = []
    /// The decoded names and values.
    private var decoded: [UInt8] = []

    init() {}

    /// Throws `bad_query` for an unknown or repeated name and for bad escapes. Ignores the parameters of a signed link,
    /// which are already checked.
    init(_ query: RawSpan, _ names: [StaticString], isLink: Bool = false) throws(ProtocolError) {
        guard query.byteCount > 0 else { return }
        // No more than that when decoded.
        decoded.reserveCapacity(query.byteCount)
        parameters.reserveCapacity(names.count)
        var walk = QueryParameters()
        while let (name, value) = try walk.next(query) {
            let name = try decode(name.of(query))
            if isLink, SignedLink.isParameter(name.of(decoded.span.bytes)) { continue }
            try check(name.of(decoded.span.bytes), names)
            let decodedValue = try decode(value.of(query))
            parameters.append((name, decodedValue))
        }
    }

    private func check(_ name: RawSpan, _ names: [StaticString]) throws(ProtocolError) {
        guard names.contains(where: { name.equals($0) }) else {
            let known = names.map(\.description).joined(separator: ", ")
            throw ProtocolError(
                .badQuery,
                "unknown parameter \(name.excerpt()); "
                    + (names.isEmpty ? "none is known here" : "known are \(known)"))
        }
        let isRepeated = parameters.contains { $0.name.of(decoded.span.bytes).equals(name) }
        try require(
            !isRepeated, .badQuery, "the parameter \(name.excerpt()) is given twice")
    }

    private mutating func decode(_ text: RawSpan) throws(ProtocolError) -> Slice {
        let start = decoded.count
        try PercentCoding.decode(text, plusIsSpace: true, orThrow: .badQuery, into: &decoded)
        return Slice(offset: start, count: decoded.count - start)
    }

    /// The slice of ``decoded`` with a parameter's value; nil: not given.
    private func find(_ name: StaticString) -> Slice? {
        for parameter in parameters where parameter.name.of(decoded.span.bytes).equals(name) {
            return parameter.value
        }
        return nil
    }

    subscript(_ name: StaticString) -> [UInt8]? { find(name)?.of(decoded.span.bytes).array() }

    func text(_ name: StaticString, _ code: ErrorCode) throws(ProtocolError) -> String? {
        guard let bytes = self[name] else { return nil }
        return try require(
            String(validating: bytes, as: UTF8.self), code, "\(name) is not valid UTF-8")
    }

    /// A text whose type defines its rule.
    func name<Rule: TextRule>(
        _ name: StaticString, isAbsentIfEmpty: Bool = false
    ) throws(ProtocolError) -> CheckedText<Rule>? {
        guard let value = find(name), !(isAbsentIfEmpty && value.isEmpty) else { return nil }
        return try CheckedText(onWire: value.of(decoded.span.bytes))
    }

    func app() throws(ProtocolError) -> AppName? { try name("app") }

    /// - Parameter scope: the notifications that exist for the request; nil: all.
    func filter(in scope: NotificationScope?) throws(ProtocolError) -> RecordFilter {
        let group: GroupName? = try name("group")
        let platform: PlatformName? = try name("platform")
        let targetHost: TargetHost? = try name("target_host")
        var filter = RecordFilter(
            app: try app()?.text, isRead: try flag("read"), group: group?.text,
            platform: platform?.text, targetHost: targetHost?.text)
        if let app = scope?.app {
            try require(
                filter.app == nil || filter.app == app, .badQuery,
                "the token is for the app \(app.excerpt) only")
            filter.app = app
        }
        if let name = try text("action_state", .badActionState) {
            filter.actionState = try ActionState(onWire: name)
        }
        if let name = try text("status", .badQuery) {
            filter.status = try require(
                RecordFilter.Status(rawValue: name), .badQuery,
                "status is \(name.excerpt); it must be active or deleted")
        }
        try require(
            filter.status == .active || !filter.asksForDetails, .badQuery,
            "status=deleted allows app and no other filter: of a deleted notification only the id, the app and the device are known"
        )
        return filter
    }

    func number(
        _ name: StaticString, in bounds: ClosedRange<Int>, _ code: ErrorCode, default fallback: Int
    ) throws(ProtocolError) -> Int {
        let bounds = Int64(bounds.lowerBound)...Int64(bounds.upperBound)
        return try number(name, in: bounds, code).map { Int($0) } ?? fallback
    }

    private func number(
        _ name: StaticString, in bounds: ClosedRange<Int64>, _ code: ErrorCode,
        setting: StaticString? = nil
    ) throws(ProtocolError) -> Int64? {
        guard let slice = find(name) else { return nil }
        let bytes = slice.of(decoded.span.bytes)
        guard case .value(let value) = Decimal.parse(bytes),
            let number = Int64(exactly: value), bounds.contains(number)
        else {
            throw ProtocolError(
                code, "\(name) is \(bytes.excerpt())", outside: bounds, setting: setting)
        }
        return number
    }

    func ttlSeconds(_ lifetimes: LifetimeRules) throws(ProtocolError) -> Int64? {
        try number("ttl", in: lifetimes.ttlSecondsBounds, .badTTL, setting: "max-ttl")
    }

    func pageLimit() throws(ProtocolError) -> Int {
        try number(
            "limit", in: 1...WireLimits.feedPageLimitMax, .badLimit,
            default: WireLimits.feedPageLimitDefault)
    }

    func flag(_ name: StaticString) throws(ProtocolError) -> Bool? {
        guard let slice = find(name) else { return nil }
        let bytes = slice.of(decoded.span.bytes)
        if bytes.equals("true") { return true }
        if bytes.equals("false") { return false }
        throw ProtocolError(
            .badQuery, "\(name) is \(bytes.excerpt()); it must be true or false")
    }
}
