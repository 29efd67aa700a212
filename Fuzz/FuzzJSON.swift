// Feeds arbitrary bytes to the JSON parser. Compiled together with the sources of BlobJSON by
// Scripts/fuzz.
//
// The properties: nothing traps; what parses composes to a text that parses to the same value and
// composes to the same text; a value without limits passed is refused when one is tightened to just
// under it; a merge patch with itself makes what merging it once made.

/// Called by libFuzzer with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJSON(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    // libFuzzer's input lives for the length of this call.
    let bytes = UnsafeRawBufferPointer(start: start, count: count).bytes
    var limits = JSONLimits()
    limits.byteCountMax = count
    let value: JSONValue
    do throws(JSONError) {
        value = try JSONValue.parse(bytes, limits: limits)
    } catch {
        precondition(error.offset >= 0 && error.offset <= count && !error.description.isEmpty)
        return 0
    }
    precondition(isUTF8(bytes), "what is not UTF-8 is taken")
    checkComposing(value)
    checkMerging(value)
    if count > 0 {
        limits.byteCountMax = count - 1
        precondition(kind(bytes, limits) == .tooLong)
    }
    return 0
}

private func checkComposing(_ value: JSONValue) {
    let fragment = JSONFragment(value)
    guard let again = try? fragment.value() else {
        preconditionFailure("what was composed does not parse")
    }
    precondition(again == value && again.hashValue == value.hashValue)
    precondition(JSONFragment(again) == fragment, "what was composed composes otherwise")
    var limits = JSONLimits()
    limits.byteCountMax = fragment.bytes.count
    limits.depthMax = depth(value)
    limits.memberCountMax = memberCount(value)
    precondition(kind(fragment.bytes.span.bytes, limits) == nil)
    if limits.depthMax > 0 {
        limits.depthMax -= 1
        precondition(kind(fragment.bytes.span.bytes, limits) == .tooDeep)
        limits.depthMax += 1
    }
    if limits.memberCountMax > 0 {
        limits.memberCountMax -= 1
        precondition(kind(fragment.bytes.span.bytes, limits) == .tooMany)
    }
}

private func checkMerging(_ value: JSONValue) {
    let once = JSONValue.null.merged(with: value)
    precondition(once.merged(with: value) == once, "a patch is not idempotent")
    precondition(value.merged(with: .object([])) == (isObject(value) ? value : .object([])))
    precondition(value.merged(with: .null) == .null)
}

private func kind(_ bytes: RawSpan, _ limits: JSONLimits) -> JSONError.Kind? {
    do throws(JSONError) {
        _ = try JSONValue.parse(bytes, limits: limits)
        return nil
    } catch {
        return error.kind
    }
}

private func isUTF8(_ bytes: RawSpan) -> Bool {
    bytes.withUnsafeBytes { String(validating: $0, as: UTF8.self) != nil }
}

private func isObject(_ value: JSONValue) -> Bool {
    if case .object = value { true } else { false }
}

private func depth(_ value: JSONValue) -> Int {
    switch value {
    case .array(let elements): 1 + (elements.map(depth).max() ?? 0)
    case .object(let members): 1 + (members.map { depth($0.value) }.max() ?? 0)
    default: 0
    }
}

private func memberCount(_ value: JSONValue) -> Int {
    switch value {
    case .array(let elements): elements.reduce(elements.count) { $0 + memberCount($1) }
    case .object(let members): members.reduce(members.count) { $0 + memberCount($1.value) }
    default: 0
    }
}
