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
        for number in 0..<count {
            var upload = NotificationUpload(id: "n\(100 + number)")
            upload.owner = "ann"
            upload.message = String(repeating: "m", count: 4_000)
            upload.data = .string(String(repeating: "d", count: 16_000))
            try await client.call(.publish(upload))
        }
        let action = (0..<10).map { number in
            NotificationRecord.Action(
                identifier: "a\(number)", title: String(repeating: "t", count: 256))
        }
        for number in 0..<150 {
            try await client.call(.setCategory("c\(100 + number)", action))
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
