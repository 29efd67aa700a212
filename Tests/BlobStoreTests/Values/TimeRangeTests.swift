import Bytes
import TestSupport
import Testing

@testable import BlobStore

/// A publish of a moment before 1970 was acknowledged, and its record could not be read: the next sweep called the store
/// damaged.
@Suite struct TimeRangeTests {
    private typealias Call = (name: String, make: (Timestamp) throws -> Void)

    private let folder = TemporaryFolder()
    private let store: BlobStore
    private let payload: PreparedPayload

    init() throws {
        store = try folder.open()
        payload = try store.prepare([1, 2, 3])
        try store.publish("a", owner: "ann", group: "g") {
            $0.parts = [
                DraftPart(name: "payload", mediaType: "image/png", content: .payload(payload))
            ]
        }
    }

    private static let last = Timestamp(milliseconds: 253_402_300_799_999)
    private static let day = noon.adding(seconds: 86_400)

    private var changes: [Change] {
        var patch = NotificationPatch(id: "a")
        patch.isRead = .set(true)
        return [
            .publish(Publication(id: "b", payload: payload, expiry: .at(Self.day))),
            .notification("b"), .patch(patch), .delete(id: "a"), .remove(Removal(id: "a")),
            .respond(ActionResponse(id: "a", action: "default")),
            .hold(BlobHold(payload, until: Self.day)),
            .setCategory(Category(name: "c", actions: [])),
            .removeCategory(name: "c", app: nil),
        ]
    }

    private var writes: [Call] {
        let store = store
        let patch = NotificationPatch(id: "")
        return changes.map { change in
            (
                "\(change)",
                { if let error = try store.apply([change], asOf: $0)[0].error { throw error } }
            )
        } + [
            (
                "publish",
                {
                    try store.publish(
                        Publication(id: "b", payload: payload, expiry: .after(seconds: 60)),
                        asOf: $0)
                }
            ),
            ("delete", { try store.delete("a", asOf: $0) }),
            ("patchGroup", { try store.patchGroup("g", of: "ann", patch, asOf: $0) }),
            ("deleteGroup", { try store.deleteGroup("g", of: "ann", asOf: $0) }),
            ("deleteOwner", { try store.deleteOwner("ann", asOf: $0) }),
            (
                "advance",
                {
                    var change = LongChange.deleteOwner("ann")
                    _ = try store.advance(&change, asOf: $0)
                }
            ),
            ("sweepExpired", { _ = try store.sweepExpired(asOf: $0, limit: 10) }),
        ]
    }

    private var reads: [Call] {
        let store = store
        func read(
            _ name: String,
            _ body: @escaping (borrowing Snapshot, Timestamp) throws(StoreError) -> Void
        ) -> Call {
            (
                "Snapshot.\(name)",
                { now in try store.withSnapshot { (it) throws(StoreError) in try body(it, now) } }
            )
        }
        let digest = payload.digest
        let (id, part, ann) = (Array("a".utf8), Array("payload".utf8), Array("ann".utf8))
        return [
            ("withPayload", { _ = try store.withPayload(for: "a", asOf: $0) { $0.byteCount } }),
            ("ownedPayload", { _ = try store.ownedPayload(for: "a", asOf: $0) }),
            ("ownedPayload, missing", { _ = try store.ownedPayload(for: "none", asOf: $0) }),
            ("ownedPayload by digest", { _ = try store.ownedPayload(digest: digest, asOf: $0) }),
            ("record", { _ = try store.record(for: "a", asOf: $0) }),
            ("history", { _ = try store.history(of: "ann", asOf: $0) }),
            read("payload") { (it, now) throws(StoreError) in
                _ = try it.payload(for: id.span.bytes, part: part.span.bytes, asOf: now)
            },
            read("blob") { (it, now) throws(StoreError) in
                _ = try it.blob(digest, asOf: now)
            },
            read("record") { (it, now) throws(StoreError) in
                _ = try it.record(for: id.span.bytes, asOf: now)
            },
            read("records") { (it, now) throws(StoreError) in
                _ = try it.records(after: RawSpan(), limit: 10, asOf: now)
            },
            read("history") { (it, now) throws(StoreError) in
                _ = try it.history(of: ann.span.bytes, HistoryQuery(), asOf: now)
            },
        ]
    }

    private var copies: [Call] {
        let store = store
        return [
            ("backUp", { try store.backUp(asOf: $0) { _ in } }),
            (
                "restore",
                { now in
                    try BlobStore.restore(to: TemporaryFolder().path, asOf: now) { _, _ in
                        Issue.record("the backup was read")
                    }
                }
            ),
            (
                "compact",
                { now in
                    let other = TemporaryFolder()
                    try other.open().put("a", [1])
                    _ = try BlobStore.compact(at: other.path, asOf: now)
                }
            ),
        ]
    }

    @Test(
        "A present before 1970 or too late to be written is refused by every call, which changes nothing",
        arguments: [-1, -5, .min, 253_402_300_800_000, .max])
    func present(milliseconds: Int64) throws {
        let before = try store.contents()
        for (name, call) in writes + reads + copies {
            let error = try failure { try call(Timestamp(milliseconds: milliseconds)) }
            #expect(error.field == .now, "\(name): \(error)")
            #expect(error.description.contains("is \(milliseconds) ms"), "\(name): \(error)")
            #expect(error.description.contains("253402300799999"), "\(name): \(error)")
        }
        #expect(try store.contents() == before)
        #expect(try store.verify().problems == [])
        #expect(try store.sweepExpired(asOf: Self.day, limit: 10) == swept(expired: 1))
    }

    @Test("The first and the last moment are as good as any")
    func bounds() throws {
        #expect(StoreLimits.expiryMillisecondsMax == RFC3339.millisecondsMax)
        let first = Timestamp(milliseconds: 0)
        try store.put("first", [1], seconds: 1, asOf: first)
        #expect(try store.record(for: "first", asOf: first)?.createdAt == first)
        #expect(try store.sweepExpired(asOf: first, limit: 10) == SweepResult())
        let late = Timestamp(milliseconds: Self.last.milliseconds - 1_000)
        try store.put("last", [1], seconds: 1, asOf: late)
        #expect(try store.record(for: "last", asOf: late)?.expiresAt == Self.last)
        #expect(try store.sweepExpired(asOf: Self.last, limit: 10) == swept(expired: 3))
    }

    @Test(
        "An end before 1970, too late to be written, or after a sum that is too large, is refused by every change",
        arguments: [-5, .min, 253_402_300_800_000, .max])
    func end(milliseconds: Int64) throws {
        let end = Timestamp(milliseconds: milliseconds)
        var patch = NotificationPatch(id: "a")
        patch.expiresAt = .set(end)
        let seconds = milliseconds < 0 ? .min : milliseconds / 1_000
        let expiries: [Expiry] = [
            .at(end), .keep(otherwise: end), .after(seconds: seconds),
            .keepOrAfter(seconds: seconds),
        ]
        let changes: [Change] =
            expiries.map { .publish(Publication(id: "b", payload: payload, expiry: $0)) }
            + expiries.map { .publishNotification(NotificationDraft(id: "b", expiry: $0)) }
            + [
                .patch(patch), .hold(BlobHold(payload, until: end)),
                .hold(BlobHold(payload, seconds: seconds)),
            ]
        let before = try store.contents()
        for change in changes {
            let error = try #require(try store.apply(change).error)
            #expect(error.field == .expiry, "\(change): \(error)")
        }
        let error = try failure { try store.patchGroup("g", of: "ann", patch, asOf: noon) }
        #expect(error.field == .expiry)
        #expect(try store.contents() == before)
    }

    private func swept(expired: Int) -> SweepResult {
        var result = SweepResult()
        result.expired = expired
        return result
    }
}
