import TestSupport
import Testing

@testable import ObjectStore

/// The parser of servers' answers.
@Suite struct XMLTests {
    private static func parse(_ text: String) -> XMLElement? { XMLElement.parse(Array(text.utf8)) }

    @Test("Elements, texts and entities are read; attributes, comments and prefixes are left out")
    func documents() {
        let text = """
            \u{FEFF}<?xml version="1.0" encoding="UTF-8"?>
            <!-- <a> -->
            <s3:A xmlns:s3="http://s3/" b='<'>
            </s3:A>
            """
        #expect(Self.parse(text) == nil, "a < in an attribute")
        let good = Self.parse(text.replacing("'<'", with: "\">'\""))
        #expect(good?.name == "A" && good?.children == [])
        let nested = Self.parse("<a>x&lt;<b/>y&#65;&#x42;&amp;<c d = 'e' >z</c ><!-- - -->é</a>")
        #expect(nested?.text == "x<yAB&é")
        #expect(nested?.children.map(\.name) == ["b", "c"])
        #expect(nested?.text(of: "c") == "z" && nested?.text(of: "d") == nil)
    }

    @Test(
        "Anything else is refused",
        arguments: [
            "", "a", "<a>", "<a/><b/>", "<a></b>", "<a></ab>", "<ab></a>", "<a>&</a>",
            "<a>&nbsp;</a>",
            "<a>&#;</a>", "<a>&#xD800;</a>", "<a>&#99999999;</a>", "<a>&#65</a>", "< a/>", "<1/>",
            "<a b/>",
            "<a b=c/>", "<a b='c/>", "<a b='c'd='e'/>", "<a><![CDATA[b]]></a>", "<!DOCTYPE a><a/>",
            "<a/>b", "<a><!-- </a>", "<?xml <a/>", "<a/", "<a", "<", "<:/>", "<a:/>", "</a>",
            "<html><br></html>",
        ])
    func refusals(text: String) {
        #expect(Self.parse(text) == nil)
    }

    @Test("Bytes that are no UTF-8 are refused")
    func invalidText() {
        #expect(XMLElement.parse([0x3C, 0x61, 0x3E, 0xFF, 0x3C, 0x2F, 0x61, 0x3E]) == nil)
    }

    @Test("Depth and number of elements are limited")
    func limits() {
        func nested(_ depth: Int) -> String {
            String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)
        }
        #expect(Self.parse(nested(ObjectStoreLimits.xmlDepthMax)) != nil)
        #expect(Self.parse(nested(ObjectStoreLimits.xmlDepthMax + 1)) == nil)
        #expect(Self.parse(nested(100_000)) == nil)
        let most = ObjectStoreLimits.xmlElementCountMax
        #expect(Self.parse("<a>\(String(repeating: "<b/>", count: most - 1))</a>") != nil)
        #expect(Self.parse("<a>\(String(repeating: "<b/>", count: most))</a>") == nil)
    }

    @Test("Documents that were cut or changed end in nothing or in a document, never in a trap")
    func rubbish() {
        let seed = testSeed(17)
        var random = SeededGenerator(seed: seed)
        let document = Array(
            "<?xml version='1.0'?><ListBucketResult xmlns=\"u\"><IsTruncated>false</IsTruncated><Contents><Key>a%20&amp;</Key><Size>12</Size></Contents></ListBucketResult>"
                .utf8)
        for end in document.indices {
            #expect(XMLElement.parse(Array(document[..<end])) == nil, "cut at \(end)")
        }
        for _ in 0..<testRounds(4_000) {
            var bytes = document
            for _ in 0...random.below(4) {
                switch random.below(3) {
                case 0: bytes[random.below(bytes.count)] = UInt8(random.below(256))
                case 1: bytes.remove(at: random.below(bytes.count))
                default: bytes.insert(UInt8(random.below(128)), at: random.below(bytes.count))
                }
            }
            _ = ObjectListPage.parse(bytes, prefix: "", droppedByteCount: 0, startAfter: nil)
            _ = ErrorDocument(bytes)
        }
        print("XMLTests.rubbish seed \(seed)")
    }

    @Test("An error's code and words are read, also where they are wrapped")
    func errors() {
        let document = ErrorDocument(
            Array(
                "<Error><Code>NoSuchKey</Code><Message>no\nkey</Message><Region>r</Region></Error>"
                    .utf8))
        #expect(document?.words == "NoSuchKey (no·key)" && document?.region == "r")
        #expect(
            ErrorDocument(
                Array("<ErrorResponse><Error><Code>A</Code></Error></ErrorResponse>".utf8))?
                .words == "A")
        for text in [
            "<Error/>", "<Error><Code></Code></Error>", "<html/>", "<Fault><Code>A</Code></Fault>",
        ] {
            #expect(ErrorDocument(Array(text.utf8)) == nil)
        }
    }

    @Test("A listing is read strictly")
    func listings() throws {
        func parse(_ inner: String, after: String? = nil) -> Result<ObjectListPage, BadListing> {
            ObjectListPage.parse(
                Array("<ListBucketResult>\(inner)</ListBucketResult>".utf8), prefix: "p/l",
                droppedByteCount: 2, startAfter: after)
        }
        func object(_ key: String, _ size: String = "1") -> String {
            "<Contents><Key>\(key)</Key><Size>\(size)</Size><LastModified>2026-12-01T00:00:00.000Z</LastModified></Contents>"
        }
        let end = "<IsTruncated>false</IsTruncated>"
        let page = try parse(
            "<EncodingType>url</EncodingType>\(end)\(object("p/l+%2B%C3%A9"))"
        ).get()
        #expect(page.objects.map(\.key) == ["l +é"])
        #expect(page.objects[0].modifiedMilliseconds == 1_796_083_200_000 && page.next == nil)
        // Not encoded, where the server does not say so.
        #expect(try parse(end + object("p/l%20")).get().objects[0].key == "l%20")
        let more = try parse(
            "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"
        ).get()
        #expect(more.next == ObjectListPosition(token: "t"))
        for bad in [
            "", object("p/l"), end + object("q"), end + object("p/l", "-1"),
            end + object("p/l", "x"),
            end + object("p/lb") + object("p/la"), end + object("p/l") + object("p/l"),
            "<IsTruncated>true</IsTruncated>", end + "<Contents><Size>1</Size></Contents>",
            "<EncodingType>url</EncodingType>\(end)\(object("p/l%F"))",
            "<EncodingType>url</EncodingType>\(end)\(object("p/l%FF"))",
        ] {
            #expect(throws: BadListing.self, "\(bad)") { try parse(bad).get() }
        }
        #expect(throws: BadListing.self) { try parse(end + object("p/la"), after: "p/la").get() }
    }
}
