import BlobJSON
import Testing

/// What is no JSON, or more of it than is taken.
@Suite struct RefusalTests {
    @Test(
        "What breaks the grammar is refused",
        arguments: [
            "", " ", "nul", "nulL", "True", "NaN", "Infinity", "undefined", "'a'", "01", "-01", "-",
            "+1", "1.", ".5", "1e", "1e+", "0x10", "1 2", "1,", "[1,]", "[,1]", "[1 2]", "[1", "[",
            "]", "{", "}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}", "{a:1}", "{1:2}",
            "{\"a\":1 \"b\":2}", "{\"a\" 1}", "[1}", "{\"a\":1]", "\"", "\"a", "\"\\", "\"\\x\"",
            "\"\\u12\"", "\"\\u12G4\"", "\"\\uD834\"", "\"\\uD834x\"", "\"\\uD834\\n\"",
            "\"\\uD834\\uD834\"", "\"\\uDD1E\"", "\"\\uDD1E\\uD834\"", "\"a\u{1}\"", "\"a\nb\"",
            "\"a\tb\"", "/* */1", "1 // x", "\u{FEFF}1", "\u{A0}1", "nullnull", "[]]", "{}{}",
            "1\u{0}", "\"a\"b",
        ])
    func grammar(text: String) {
        #expect(parsed(text) == .refused(.syntax))
    }

    @Test(
        "What is not UTF-8 is refused, wherever it stands",
        arguments: [
            [0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xC0, 0xAF, 0x22],
            [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], [0x31, 0x80],
            [0xFE, 0x31], [0x7B, 0x22, 0xE2, 0x82, 0x22, 0x3A, 0x31, 0x7D],
            // Behind something that is no JSON either.
            [0x78, 0x20, 0xFF],
        ] as [[UInt8]])
    func utf8(bytes: [UInt8]) {
        #expect(parsed(bytes) == .refused(.notUTF8))
    }

    @Test("An error says where")
    func offsets() {
        func error(_ text: String) -> JSONError? {
            do throws(JSONError) {
                _ = try JSONValue.parse(Array(text.utf8).span.bytes)
                return nil
            } catch {
                return error
            }
        }
        #expect(error("[1,x]")?.offset == 3)
        #expect(error("{\"a\":1,\n \"a\":2}")?.offset == 9)
        #expect(error("{\"a\":1,\n \"a\":2}")?.description.contains("\"a\"") == true)
        #expect(error("[1")?.offset == 2)
        #expect(error("[1")?.description.contains("end") == true)
        #expect(error("\"\\uD834\\u0041\"")?.offset == 3)
    }

    @Test("A key may stand once in an object, whatever it is written like")
    func duplicateKeys() {
        #expect(parsed("{\"a\":1,\"a\":1}") == .refused(.duplicateKey))
        #expect(parsed("{\"a\":1,\"\\u0061\":1}") == .refused(.duplicateKey))
        #expect(parsed("[{\"b\":{\"\":1,\"\":2}}]") == .refused(.duplicateKey))
        #expect(parsed("{\"a\":{\"a\":{\"a\":1}}}") != .refused(.duplicateKey))
        // Few are compared one by one and many are hashed.
        for count in [2, 7, 8, 9, 10, 100] {
            for twin in 0..<count {
                let names = (0..<count).map(String.init)
                let members = (names + ["\(twin)"]).map { "\"\($0)\":0" }.joined(separator: ",")
                #expect(parsed("{\(members)}") == .refused(.duplicateKey))
            }
            let members = (0..<count).map { "\"\($0)\":0" }.joined(separator: ",")
            #expect(parsed("{\(members)}") == .text("{\(members)}"))
        }
    }

    @Test("64 levels are read, 65 are not")
    func depth() {
        func nested(_ count: Int, _ open: String, _ close: String) -> String {
            String(repeating: open, count: count) + "1" + String(repeating: close, count: count)
        }
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            #expect(parsed(nested(64, open, close)) == .text(nested(64, open, close)))
            #expect(parsed(nested(65, open, close)) == .refused(.tooDeep))
            #expect(parsed(nested(10_000, open, "")) == .refused(.tooDeep))
        }
        // A limit can be lower, and not higher.
        var limits = JSONLimits()
        limits.depthMax = 1
        #expect(parsed("[1]", limits: limits) == .text("[1]"))
        #expect(parsed("[[1]]", limits: limits) == .refused(.tooDeep))
        limits.depthMax = 1_000
        #expect(parsed(nested(65, "[", "]"), limits: limits) == .refused(.tooDeep))
        // Beside each other they are not within each other.
        #expect(parsed("[" + String(repeating: "[],", count: 100) + "[]]") != .refused(.tooDeep))
    }

    @Test("A text has so many bytes and members at the most")
    func size() {
        var limits = JSONLimits()
        limits.byteCountMax = 5
        #expect(parsed("[1,2]", limits: limits) == .text("[1,2]"))
        #expect(parsed("[1,2] ", limits: limits) == .refused(.tooLong))
        limits = JSONLimits()
        limits.memberCountMax = 3
        #expect(parsed("[1,[2]]", limits: limits) == .text("[1,[2]]"))
        #expect(parsed("[1,{\"a\":[2]}]", limits: limits) == .refused(.tooMany))
        #expect(parsed("\"" + String(repeating: "a", count: 65_534) + "\"") != .refused(.tooLong))
        #expect(parsed("\"" + String(repeating: "a", count: 65_535) + "\"") == .refused(.tooLong))
    }
}
