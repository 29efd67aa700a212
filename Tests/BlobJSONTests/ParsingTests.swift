import BlobJSON
import TestSupport
import Testing

/// What is JSON (RFC 8259), and what is made of it.
@Suite struct ParsingTests {
    @Test(
        "Good texts are read, and composed without blanks",
        arguments: [
            ("null", "null"), (" \t\r\n true \n", "true"), ("false", "false"), ("0", "0"),
            ("-0", "-0"), ("12", "12"), ("-1.50", "-1.50"), ("1e5", "1e5"), ("1E+05", "1E+05"),
            ("0.1e-7", "0.1e-7"), ("123456789012345678901234567890", nil),
            ("\"\"", nil), ("\"a\\u0062c\"", "\"abc\""), ("\"\\/\"", "\"/\""),
            ("\"\\\"\\\\\\b\\f\\n\\r\\t\"", nil), ("\"\\u0000\\u001f\"", nil),
            ("\"\\u00e9\\u20AC\\uD834\\uDD1E\"", "\"é€𝄞\""), ("\"\\u007f\"", "\"\u{7F}\""),
            ("\"é𝄞\u{2028}\"", nil), ("[]", nil), ("[ ]", "[]"), ("[1 , [2],{}]", "[1,[2],{}]"),
            ("{}", nil), ("{ }", "{}"),
            ("{\"b\" : 1 , \"a\":{\"b\":[null]}}", "{\"b\":1,\"a\":{\"b\":[null]}}"),
            ("{\"\":0}", nil), ("{\"a\":1,\"A\":2}", nil),
            ("{\"é\":1,\"e\u{301}\":2}", nil),
        ] as [(String, String?)])
    func good(text: String, composed: String?) throws {
        #expect(parsed(text) == .text(composed ?? text))
        // Once minified it stays as it is.
        let once = minified(try value(text))
        #expect(minified(try value(once)) == once)
    }

    @Test("A text that is cut anywhere is refused, and nothing traps")
    func cut() {
        let whole = Array(
            #" {"a":[1,-2.5e+3,true,false,null,{"k":"\u00e9\uD834\uDD1E\n€"}],"b":"x"}"#.utf8)
        #expect(parsed(whole) != .refused(.syntax))
        for count in 0..<whole.count {
            let outcome = parsed(Array(whole[..<count]))
            #expect(outcome == .refused(.syntax) || outcome == .refused(.notUTF8))
        }
    }

    @Test("A whole number that 64 bits hold has its value, and others have none")
    func integers() throws {
        let numbers: [(String, Int64?)] = [
            ("0", 0), ("-0", 0), ("-9223372036854775808", .min), ("9223372036854775807", .max),
            ("9223372036854775808", nil), ("1.0", 1), ("1e0", 1), ("60.0", 60), ("6e1", 60),
            ("6E+1", 60), ("600e-1", 60), ("-1.50e1", -15), ("0.000", 0), ("-0.0", 0),
            ("0e99999999999999999999", 0), ("922337203685477580.7e1", .max),
            ("1e18", 1_000_000_000_000_000_000),
            ("60.5", nil), ("0.1", nil), ("1e-1", nil), ("1e19", nil), ("1e400", nil),
            ("1e99999999999999999999", nil), ("1e-99999999999999999999", nil),
            ("1e-9223372036854775808", nil), ("0.1e-9223372036854775808", nil),
        ]
        for (text, integer) in numbers {
            guard case .number(let number) = try value(text) else {
                Issue.record("\(text) is no number")
                continue
            }
            #expect(number.text == text)
            #expect(number.integer == integer)
        }
    }

    @Test("Values are compared by bytes, in their order")
    func equality() throws {
        #expect(try value("[\"é\"]") != value("[\"e\u{301}\"]"))
        #expect(try value("{\"é\":1}") != value("{\"e\u{301}\":1}"))
        #expect(try value("1") != value("1.0"))
        #expect(try value("{\"a\":1,\"b\":2}") != value("{\"b\":2,\"a\":1}"))
        #expect(try value("{\"a\":[1,null]}") == value(" {\"\\u0061\" : [1, null]}"))
        #expect(try value("{\"a\":[1]}").hashValue == value("{\"\\u0061\":[1]}").hashValue)
        #expect(try value("true") != value("false"))
        #expect(try value("\"null\"") != value("null"))
    }

    @Test("A member is found by the bytes of its name")
    func members() throws {
        let object = try value("{\"a\":true,\"e\u{301}\":1}")
        #expect(object["a"] == .bool(true))
        #expect(object["b"] == nil)
        #expect(object["é"] == nil)
        #expect(object["e\u{301}"] == .number(JSONNumber(1)))
        #expect(try value("[1]")["a"] == nil)
    }

    @Test("A fragment keeps the minified bytes, and gives its value back")
    func fragments() throws {
        let fragment = JSONFragment(try value(" { \"a\" : [ 1.0 , \"\\u0041\" ] } "))
        #expect(fragment.bytes == Array("{\"a\":[1.0,\"A\"]}".utf8))
        #expect(try fragment.value() == value("{\"a\":[1.0,\"A\"]}"))
        #expect(JSONFragment(checked: fragment.bytes) == fragment)
        // Longer than a document may be.
        let long = JSONFragment(.array(Array(repeating: .null, count: 20_000)))
        #expect(try long.value() == .array(Array(repeating: .null, count: 20_000)))
    }

    @Test("Random values come back as they were", arguments: [1, 2, 3, 4] as [UInt64])
    func roundTrip(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let original = randomValue(depth: 4, using: &generator)
            let text = minified(original)
            #expect(try value(text) == original, "seed \(seed): \(text)")
        }
    }
}
