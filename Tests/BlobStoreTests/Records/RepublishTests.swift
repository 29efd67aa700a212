import TestSupport
import Testing

@testable import BlobStore

/// A new picture wiped the notification: published with a message, a rich type, an owner and an hour
/// to live, and then its payload alone again, it had no message, no rich type and 30 days.
@Suite struct RepublishTests {
    private let first = noon
    private let later = noon.adding(seconds: 10)

    private func publish(
        _ store: BlobStore, part: String, _ expiry: Expiry, at now: Timestamp,
        _ change: (inout Publication) -> Void = { _ in }
    ) throws -> Record {
        var publication = Publication(
            id: "a", part: part, payload: try store.prepare([1]), expiry: expiry)
        change(&publication)
        return try store.publish(publication, asOf: now)
    }

    @Test("What a publication does not say stays as it is", arguments: ["payload", "icon"])
    func kept(part: String) throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        var draft = NotificationDraft(id: "a", expiry: .after(seconds: 3_600))
        (draft.owner, draft.message, draft.richType) = ("ann", "Hello", "img")
        draft.details.group = "weekend"
        draft.details.isRead = true
        let made = try #require(
            try store.apply([.publishNotification(draft)], asOf: first)[0].record)
        let end = first.adding(seconds: 3_600)
        #expect(made.expiresAt == end)
        for expiry in [Expiry.keepOrAfter(seconds: 9), .keep(otherwise: noon.adding(seconds: 99))] {
            let record = try publish(store, part: part, expiry, at: later)
            #expect(record.owner == "ann" && record.message == "Hello")
            #expect(record.richType == "img" && record.details.group == "weekend")
            #expect(record.details.isRead && record.createdAt == first)
            #expect(record.expiresAt == end)
        }
        let said = try publish(store, part: part, .after(seconds: 5), at: later) {
            ($0.owner, $0.message, $0.richType) = ("bob", "Bye", "gif")
        }
        #expect(said.owner == "bob" && said.message == "Bye" && said.richType == "gif")
        #expect(said.expiresAt == later.adding(seconds: 5) && said.createdAt == first)
        #expect(try store.verify().problems == [])
    }

    @Test("Behind its end, and when it was deleted, a second publish is a new one")
    func new() throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        for isDeleted in [false, true] {
            _ = try publish(store, part: "payload", .after(seconds: 10), at: first) {
                ($0.owner, $0.message, $0.richType) = ("ann", "Hello", "img")
            }
            if isDeleted { #expect(try store.delete("a", asOf: first)) }
            let record = try publish(store, part: "payload", .keepOrAfter(seconds: 7), at: later)
            #expect(record.owner == nil && record.message == nil && record.richType == nil)
            #expect(record.createdAt == later && record.expiresAt == later.adding(seconds: 7))
            #expect(try store.delete("a", asOf: later))
        }
    }

    @Test("A time to live is counted from the moment of the change, for holds too")
    func after() throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        let record = try publish(store, part: "payload", .after(seconds: 60), at: later)
        #expect(record.expiresAt.milliseconds - record.createdAt.milliseconds == 60_000)
        for seconds in [Int64.min, -1, 0, .max] {
            for expiry in [Expiry.after(seconds: seconds), .keepOrAfter(seconds: seconds)] {
                let error = try failure {
                    _ = try publish(store, part: "payload", expiry, at: later)
                }
                #expect(error.field == .expiry, "\(expiry)")
            }
        }
        let payload = try store.prepare([2])
        let hold = BlobHold(payload, seconds: 30)
        guard case .held(let held, true) = try store.apply([.hold(hold)], asOf: later)[0] else {
            Issue.record("not held")
            return
        }
        #expect(held.until == later.adding(seconds: 30))
        // A hold is never made shorter.
        guard
            case .held(let again, false) = try store.apply(
                [.hold(BlobHold(payload, seconds: 1))], asOf: later)[0]
        else {
            Issue.record("not held")
            return
        }
        #expect(again.until == held.until)
    }
}
