import BlobJSON
import TestSupport
import Testing

/// A notification whose buttons change with each response: what each device shows is the latest.
@Suite(.waiting) struct RotatingButtonTests {
    /// The identifiers of a notification's actions, as a feed shows it.
    private func buttons(_ change: SeenChange) -> [String] {
        guard case .array(let actions)? = change.notification?["actions"] else { return [] }
        return actions.compactMap { $0["identifier"]?.text }
    }

    private func respond(_ daemon: DaemonProcess, _ action: String, key: String) throws -> Int {
        try daemon.request(
            "POST", "/v1/notifications/timer/responses",
            ["Content-Type": "application/json", "Blobd-Device": "phone"],
            body: Array(#"{"action":"\#(action)","key":"\#(key)","dismissed":false}"#.utf8)
        ).status
    }

    private func show(_ daemon: DaemonProcess, _ actions: [String]) throws {
        let list = actions.map { #"{"identifier":"\#($0)","title":"\#($0)"}"# }
        let answer = try daemon.patch(
            "timer", #"{"actions":[\#(list.joined(separator: ","))]}"#, device: "backend")
        #expect(answer.status == 200, "\(answer.text)")
    }

    @Test("A second button appears and goes; a device that looks seldom sees the latest alone")
    func rotate() throws {
        let daemon = try DaemonProcess()
        let published = try daemon.publish(
            "timer",
            #"{"owner":"anna","message":"Timer","actions":[{"identifier":"start","title":"Start"}]}"#
        )
        #expect(published.status == 201, "\(published.text)")
        let watching = try daemon.connect()
        _ = try watching.beginEvents(of: "anna", since: "0")
        let seldom = try daemon.connect()
        let start = try seldom.changes(of: "anna", since: "0")
        let first = try watching.change()
        #expect(buttons(first) == ["start"] && first.kind == "published")

        var revision = first.revision
        for (action, key, next) in [
            ("start", "1", ["pause", "stop"]), ("pause", "2", ["resume", "stop"]),
            ("resume", "3", ["pause", "stop"]), ("stop", "4", ["start"]),
        ] {
            let before = revision
            #expect(try respond(daemon, action, key: key) == 201)
            // Asked again, because the answer was lost: nothing more happens.
            #expect(try respond(daemon, action, key: key) == 200)
            try show(daemon, next)
            // The response may be passed over, for the feed shows the latest change alone.
            var change = try watching.change()
            if buttons(change) != next { change = try watching.change() }
            #expect(buttons(change) == next && change.words == "updated timer")
            #expect(change.revision == before + 2)
            revision = change.revision
            // What is no button now cannot be pressed.
            #expect(try respond(daemon, "none such", key: "x") == 400)
            let page = try seldom.changes(of: "anna", since: start.next)
            #expect(page.words == ["updated timer"] && buttons(page.changes[0]) == next)
            #expect(page.changes[0].revision == revision)
        }
        // It stayed on screen through all of it.
        let last = try seldom.changes(of: "anna", since: start.next).changes[0]
        #expect(last.notification?["action_state"]?.text == "none")
        guard case .array(let responses)? = last.notification?["responses"] else {
            throw TestFailure("no responses")
        }
        #expect(
            responses.compactMap { $0["action"]?.text } == ["start", "pause", "resume", "stop"])
    }
}
