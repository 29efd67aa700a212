import BlobJSON
import Testing

@Suite struct JSONValueTests {
    @Test("A member is found by the bytes of its name")
    func members() {
        let object = JSONValue.object([JSONMember("a", .bool(true))])
        #expect(object["a"] != nil)
        #expect(object["b"] == nil)
    }
}
