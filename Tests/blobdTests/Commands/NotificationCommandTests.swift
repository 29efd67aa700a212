import BlobClient
import Foundation
import TestSupport
import Testing

/// The commands for notifications as a user types them: what they print, and their exit codes.
@Suite(.waiting) struct NotificationCommandTests {
    @Test func aNotificationIsPublishedMarkedAndListed() throws {
        let daemon = try DaemonProcess()
        let photo = try daemon.folder.write("photo.jpg", [UInt8](repeating: 7, count: 50_000))
        let published = try daemon.run(
            "publish", "42", "--owner", "ann", "--message", "Dinner?", "--group", "weekend",
            "--actions", "[{\"identifier\":\"yes\",\"title\":\"Yes\"}]", "--priority", "low",
            "--display-ttl", "30s", "--data", "{\"table\":4}", "--ttl", "24h",
            "--part", "payload=\(photo)", "--part", "raw=\(photo):application/x-raw")
        #expect(published.status == 0, "\(published.errors)")
        #expect(published.text.hasPrefix("created 42  revision 1  2 parts  100.0 kB  expires "))
        let record = try NotificationRecord(document: daemon.run("stat", "42", "--json").output)
        #expect(record.group == "weekend")
        #expect(record.priority == .low)
        #expect(record.displayTTLSeconds == 30)
        #expect(record.actions?.map(\.title) == ["Yes"])
        #expect(record.parts.map(\.mediaType) == ["image/jpeg", "application/x-raw"])
        #expect(try daemon.run("get", "42").output == [UInt8](repeating: 7, count: 50_000))

        // The same bytes again, by their digest.
        let digest = try #require(record.parts.first?.digest)
        let other = try daemon.run(
            "publish", "--owner", "ann", "--part", "payload=\(digest)", "--json")
        #expect(other.status == 0, "\(other.errors)")
        let otherID = try NotificationRecord(document: other.output).id

        let marked = try daemon.run("mark", "42", "--read", "--if-revision", "1")
        #expect(marked.status == 0, "\(marked.errors)")
        #expect(marked.text == "marked  42  revision 3  read\n")
        let late = try daemon.run("mark", "42", "--unread", "--if-revision", "1")
        #expect(late.status == 1)
        #expect(late.errors.contains("precondition_failed"))
        let answered = try daemon.run("mark", "42", "--action", "yes", "--key", "k")
        #expect(answered.text == "recorded  42  revision 4  read, activated\n")
        let again = try daemon.run("mark", "42", "--action", "yes", "--key", "k")
        #expect(again.text == "already recorded  42  revision 4  read, activated\n")
        let unknown = try daemon.run("mark", "42", "--action", "maybe")
        #expect(unknown.status == 1)
        #expect(unknown.errors.contains("unknown_action"))
        let group = try daemon.run(
            "mark", "--owner", "ann", "--group", "weekend", "--state", "dismissed")
        #expect(group.text == "changed 1 of 1\n")

        let history = try daemon.run("history", "ann", "--json")
        #expect(history.status == 0, "\(history.errors)")
        let records = try history.text.split(separator: "\n").map {
            try NotificationRecord(document: Array($0.utf8))
        }
        #expect(records.map(\.id) == [otherID, "42"])
        #expect(history.errors.hasPrefix("cursor: "))
        let table = try daemon.run("history", "ann", "--state", "dismissed")
        #expect(table.text.contains("42"))
        #expect(table.text.contains("read, dismissed"))
        #expect(table.text.split(separator: "\n").count == 2)
        let some = try daemon.run("history", "ann", "--limit", "1")
        #expect(some.errors.hasPrefix("more: --before "))
    }

    @Test func changesGoOnFromTheirCursor() throws {
        let daemon = try DaemonProcess()
        for id in ["1", "2", "3"] {
            #expect(try daemon.run("publish", id, "--owner", "ann", "--message", "m").status == 0)
        }
        let first = try daemon.run("changes", "ann", "--limit", "2")
        #expect(first.status == 0, "\(first.errors)")
        #expect(try Self.ids(first) == ["1", "2"])
        #expect(try daemon.run("rm", "2").status == 0)
        let rest = try daemon.run("changes", "ann", "--since", try Self.cursor(first))
        #expect(try Self.ids(rest) == ["3", "2"])
        #expect(rest.text.contains("\"kind\":\"deleted\""))
        let nothing = try daemon.run("changes", "ann", "--since", try Self.cursor(rest))
        #expect(nothing.output == [])
        #expect(nothing.status == 0)
        let alien = try daemon.run("changes", "bob", "--since", try Self.cursor(rest))
        #expect(alien.status == 1)
        #expect(alien.errors.contains("bad_cursor"))
    }

    /// The commands had no word for titles, apps and groups, and told changes of everything.
    @Test func titlesAppsFiltersAndGroups() throws {
        let daemon = try DaemonProcess()
        let photo = try daemon.folder.write("photo.jpg", [1, 2, 3])
        let put = try daemon.run(
            "put", "1", photo, "--owner", "ann", "--title", "Ann", "--app", "mail")
        #expect(put.status == 0, "\(put.errors)")
        let stat = try daemon.run("stat", "1")
        #expect(stat.text.contains("app       mail\n"), "\(stat.text)")
        #expect(stat.text.contains("title     Ann\n"), "\(stat.text)")
        for (id, app) in [("2", "mail"), ("3", "chat"), ("4", "mail")] {
            let published = try daemon.run(
                "publish", id, "--owner", "ann", "--app", app, "--title", "T\(id)", "--group", "g")
            #expect(published.status == 0, "\(published.errors)")
        }
        let empty = try daemon.run("publish", "5", "--owner", "ann")
        #expect(empty.status == 1 && empty.errors.contains("empty_notification"))
        let history = try daemon.run("history", "ann", "--app", "mail", "--json")
        #expect(history.text.split(separator: "\n").count == 3, "\(history.text)")
        #expect(try daemon.run("history", "ann").text.contains("T3"))
        let first = try daemon.run("changes", "ann", "--unread", "--app", "mail")
        #expect(try Self.ids(first) == ["1", "2", "4"])
        #expect(try daemon.run("mark", "2", "--read").status == 0)
        #expect(try daemon.run("mark", "3", "--read").status == 0)
        let second = try daemon.run(
            "changes", "ann", "--unread", "--app", "mail", "--since", try Self.cursor(first))
        #expect(try Self.ids(second) == ["2"])
        #expect(second.text.contains("\"kind\":\"left\""))
        let marked = try daemon.run(
            "mark", "--owner", "ann", "--group", "g", "--app", "mail", "--state", "snoozed")
        #expect(marked.text == "changed 2 of 2\n")
        let removed = try daemon.run("rm", "--owner", "ann", "--group", "g", "--app", "mail")
        #expect(removed.text == "removed 2\n", "\(removed.errors)")
        #expect(try daemon.run("rm", "--owner", "ann", "--group", "g").text == "removed 1\n")
        #expect(try daemon.run("rm", "--owner", "ann", "--group", "g").text == "removed 0\n")
        #expect(try daemon.run("history", "ann", "--json").text.split(separator: "\n").count == 1)
        for arguments in [
            ["rm", "--owner", "ann"], ["rm", "--group", "g"], ["rm", "--app", "mail"], ["rm"],
            ["rm", "1", "--owner", "ann", "--group", "g"],
            ["changes", "ann", "--read", "--unread"], ["mark", "1", "--app", "mail", "--read"],
            ["category", "--app", "mail"],
        ] {
            #expect(
                try blobd(arguments, socket: daemon.socketPath).status == 2, "\(arguments)"
            )
        }
        let actions = "[{\"identifier\":\"yes\",\"title\":\"Yes\"}]"
        let category = try daemon.run("category", "c", "--app", "mail", "--actions", actions)
        #expect(category.text.hasPrefix("created c  revision "), "\(category.errors)")
        #expect(try daemon.run("category", "c").status == 3)
        #expect(try daemon.run("category", "c", "--app", "mail").text.contains("\"app\":\"mail\""))
        #expect(try daemon.run("category", "c", "--app", "mail", "--delete").status == 0)
    }

    @Test func changesTellOfCategories() throws {
        let daemon = try DaemonProcess()
        let actions = "[{\"identifier\":\"yes\",\"title\":\"Yes\"}]"
        #expect(try daemon.run("category", "c", "--actions", "[]").status == 0)
        let publish = try daemon.run(
            "publish", "1", "--owner", "ann", "--message", "m", "--category", "c")
        #expect(publish.status == 0)
        let first = try daemon.run("changes", "ann")
        #expect(try daemon.run("category", "c", "--actions", actions).status == 0)
        let next = try daemon.run("changes", "ann", "--since", try Self.cursor(first))
        #expect(next.status == 0, "\(next.errors)")
        #expect(next.text.contains("\"kind\":\"category\""))
        #expect(next.text.contains("\"category\":{\"name\":\"c\""))
    }

    @Test func markTellsTheContentExtensionsAnswersApart() throws {
        let daemon = try DaemonProcess()
        #expect(try daemon.run("publish", "1", "--owner", "ann", "--message", "m").status == 0)
        for answer in ["dismiss", "dismiss_and_forward", "do_not_dismiss"] {
            let mark = try daemon.run(
                "mark", "1", "--action", "default", "--extension", answer, "--json")
            #expect(mark.status == 0, "\(mark.errors)")
            #expect(mark.text.contains("\"extension\":\"\(answer)\""))
            let isDismissed = answer != "do_not_dismiss"
            #expect(mark.text.contains("\"dismissed\":\(isDismissed),\"extension\""))
        }
        #expect(
            try daemon.run("mark", "1", "--action", "default", "--extension", "other").status == 2)
    }

    /// A program that follows hears of a change while it runs, and tells its place at the end.
    @Test func followingEndsAtAnInterrupt() throws {
        let daemon = try DaemonProcess()
        #expect(try daemon.run("publish", "1", "--owner", "ann", "--title", "t").status == 0)
        let errors = daemon.folder.path("errors")
        let process = try Child(
            DaemonProcess.program, ["changes", "ann", "--follow"],
            environment: ["BLOBD_SOCKET": daemon.socketPath], errors: .file(errors))
        #expect(process.readLine()?.contains("\"id\":\"1\"") == true)
        #expect(try daemon.run("publish", "2", "--owner", "ann", "--data", "1").status == 0)
        #expect(process.readLine()?.contains("\"id\":\"2\"") == true)
        process.kill(SIGINT)
        #expect(process.wait() == .exited(0))
        #expect(Files.text(errors).hasPrefix("cursor: "))
        #expect(try Files.byteCount(errors) == 8 + 32 + 1)
    }

    @Test func aFeedGoesOnOverARestart() async throws {
        let folder = TemporaryFolder()
        let client = BlobdClient(socketPath: folder.path("s"))
        let feed = client.changes(of: "ann")
        var changes = feed.makeAsyncIterator()
        for id in ["1", "2"] {
            let daemon = try DaemonProcess(in: folder)
            try await client.call(
                .publish(NotificationUpload(id: id, owner: "ann", message: "m")))
            let change = try await changes.next()
            #expect(change?.id == id)
            #expect(change?.kind == .published)
            withExtendedLifetime(daemon) {}
        }
    }

    @Test func batchesTellWhichLinesWereRefused() throws {
        let daemon = try DaemonProcess()
        let file = try daemon.folder.write(
            "batch",
            Array(
                """
                {"id":"1","owner":"ann","message":"m"}

                {"id":"2","owner":7}
                {"owner":"ann","message":"m"}

                """.utf8))
        let batch = try daemon.run("publish", "--batch", file)
        #expect(batch.status == 1)
        #expect(batch.text == "published 2, refused 1\n")
        #expect(batch.errors.contains("line 3: "), "\(batch.errors)")
        #expect(batch.errors.contains("bad_document"))
        #expect(try daemon.run("history", "ann", "--json").text.split(separator: "\n").count == 2)
    }

    @Test func categoriesAndEnvelopes() throws {
        let daemon = try DaemonProcess()
        let actions = "[{\"identifier\":\"yes\",\"title\":\"Yes\"}]"
        let created = try daemon.run("category", "invitation", "--actions", actions)
        #expect(created.text == "created invitation  revision 1\n", "\(created.errors)")
        #expect(
            try daemon.run("category", "invitation", "--actions", actions).text
                == "replaced invitation  revision 1\n")
        #expect(try daemon.run("category").text.hasPrefix("{\"name\":\"invitation\""))
        let publish = try daemon.run(
            "publish", "42", "--message", "Say \"hi\"", "--category", "invitation")
        #expect(publish.status == 0, "\(publish.errors)")
        let push = try daemon.run("envelope", "42", "--platform", "apns")
        #expect(
            push.text == """
                {"aps":{"content-available":1,"sound":""},"richId":"42",\
                "richMessage":"Say \\"hi\\""}

                """)
        let whole = try daemon.run("envelope", "42", "--platform", "apns", "--headers")
        #expect(
            whole.text.hasPrefix(
                "{\"media_type\":\"application/json\",\"headers\":{\"apns-push-type\":\"background\""
            ))
        let alert = try daemon.run("envelope", "42", "--platform", "apns", "--style", "alert")
        #expect(alert.text.contains("\"category\":\"invitation\""))
        let options = ["--option", "custom_dismiss_action", "--option", "allow_announcement"]
        func set(ifRevision revision: String) throws -> CommandResult {
            try blobd(
                ["category", "invitation", "--actions", "[]", "--if-revision", revision] + options,
                socket: daemon.socketPath)
        }
        let late = try set(ifRevision: "7")
        #expect(late.status == 1 && late.errors.contains("precondition_failed"))
        let optional = try set(ifRevision: "1")
        #expect(optional.text == "replaced invitation  revision 3\n", "\(optional.errors)")
        #expect(
            try daemon.run("category", "invitation").text.contains(
                "\"options\":[\"custom_dismiss_action\",\"allow_announcement\"]"))
        #expect(
            try daemon.run("category", "invitation", "--delete", "--if-revision", "1").status == 1)
        #expect(
            try daemon.run("category", "invitation", "--delete", "--if-revision", "3").status == 0)
        #expect(try daemon.run("category", "invitation").status == 3)
        #expect(try daemon.run("envelope", "7", "--platform", "apns").status == 3)
        let wedding = try daemon.run("publish", "43", "--category", "wedding")
        #expect(wedding.status == 1)
        #expect(wedding.errors.contains("unknown_category"))
    }

    private static func ids(_ result: CommandResult) throws -> [String] {
        try result.text.split(separator: "\n").map { line in
            let change = try JSONSerialization.jsonObject(with: Data(line.utf8))
            return try #require((change as? [String: Any])?["id"] as? String)
        }
    }

    private static func cursor(_ result: CommandResult) throws -> String {
        let line = try #require(result.errors.split(separator: "\n").last)
        try #require(line.hasPrefix("cursor: "))
        return String(line.dropFirst(8))
    }
}
