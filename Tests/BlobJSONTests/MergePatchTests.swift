import BlobJSON
import TestSupport
import Testing

/// Merge patches (RFC 7396).
@Suite struct MergePatchTests {
    @Test(
        "The test cases of RFC 7396, appendix A",
        arguments: [
            (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
            (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
            (#"{"a":"b"}"#, #"{"a":null}"#, #"{}"#),
            (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
            (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
            (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
            (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
            (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
            (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
            (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#),
            (#"{"a":"foo"}"#, "null", "null"),
            (#"{"a":"foo"}"#, #""bar""#, #""bar""#),
            (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
            ("[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
            ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
        ])
    func appendix(target: String, patch: String, result: String) throws {
        #expect(minified(try value(target).merged(with: value(patch))) == result)
    }

    @Test("Members keep their places and new ones come last, by the bytes of their names")
    func order() throws {
        let target = try value(#"{"c":1,"a":{"y":1,"x":2},"é":3}"#)
        let patch = try value("{\"z\":0,\"a\":{\"w\":5,\"y\":null},\"e\u{301}\":4,\"c\":2.0}")
        #expect(
            minified(target.merged(with: patch))
                == "{\"c\":2.0,\"a\":{\"x\":2,\"w\":5},\"é\":3,\"z\":0,\"e\u{301}\":4}")
    }

    @Test("A patch that says the difference makes one of the other, twice as well as once")
    func difference() {
        let seed: UInt64 = 7
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            // Null is not a value that a patch can set.
            let from = withoutNulls(randomValue(depth: 3, using: &generator))
            let to = withoutNulls(randomValue(depth: 3, using: &generator))
            let patch = difference(from, to)
            let once = from.merged(with: patch)
            #expect(sorted(once) == sorted(to), "seed \(seed): \(minified(patch))")
            #expect(once.merged(with: patch) == once, "seed \(seed): \(minified(patch))")
        }
    }

    /// The patch that makes `to` of `from`.
    private func difference(_ from: JSONValue, _ to: JSONValue) -> JSONValue {
        guard case .object(let new) = to else { return to }
        var old: [JSONMember] = []
        if case .object(let members) = from { old = members }
        let gone = old.filter { to[$0.name] == nil }.map { JSONMember($0.name, .null) }
        return .object(
            gone
                + new.filter { from[$0.name] != $0.value }
                .map { JSONMember($0.name, difference(from[$0.name] ?? .null, $0.value)) })
    }

    private func withoutNulls(_ value: JSONValue) -> JSONValue {
        switch value {
        case .null: .bool(true)
        case .object(let members):
            .object(members.map { JSONMember($0.name, withoutNulls($0.value)) })
        default: value
        }
    }

    /// The value with all members in the order of their names: a patch does not say the order.
    private func sorted(_ value: JSONValue) -> JSONValue {
        guard case .object(let members) = value else { return value }
        return .object(
            members.map { JSONMember($0.name, sorted($0.value)) }
                .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) })
    }
}
