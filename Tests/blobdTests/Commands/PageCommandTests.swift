import BlobClient
import BlobJSON
import TestSupport
import Testing

/// What the daemon answers in short pages, commands and clients read to its end.
@Suite(.waiting) struct PageCommandTests {
    @Test func allPagesAreRead() async throws {
        let daemon = try DaemonProcess()
        let client = BlobdClient(socketPath: daemon.socketPath)
        let count = 40
        let (message, data) = (
            String(repeating: "m", count: 4_000), String(repeating: "d", count: 16_000)
        )
        for number in 0..<count {
            let document = #"{"owner":"ann","message":"\#(message)","data":"\#(data)"}"#
            #expect(try daemon.publish("n\(100 + number)", document).status == 201)
        }
        let title = String(repeating: "t", count: 256)
        let actions = (0..<10).map { #"{"identifier":"a\#($0)","title":"\#(title)"}"# }
        let category = Array(#"{"actions":[\#(actions.joined(separator: ","))]}"#.utf8)
        let http = try daemon.connect()
        for number in 0..<150 {
            let target = "/v1/categories/c\(100 + number)"
            let json = ["Content-Type": "application/json"]
            #expect(try http.request("PUT", target, json, body: category).status == 201)
        }
        for command in [["ls"], ["history", "ann"], ["ls", "--limit", "39"]] {
            let listed = try blobd(command + ["--json"], socket: daemon.socketPath)
            #expect(listed.status == 0, "\(listed.errors)")
            let expected = command.count == 3 ? 39 : count
            #expect(listed.text.split(separator: "\n").count == expected, "\(command)")
        }
        #expect(try daemon.run("category").text.split(separator: "\n").count == 150)
        var categoryCount = 0
        var next: String?
        repeat {
            let page = try await client.call(.categories(after: next))
            categoryCount += page.categories.count
            next = page.next
        } while next != nil
        #expect(categoryCount == 150)
        let page = try await client.call(.list())
        #expect(page.notifications.count < count && page.next != nil)
    }
}
