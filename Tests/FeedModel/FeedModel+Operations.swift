public import BlobStore
import TestSupport

// The operations. Each chooses, does the same to the store and to the model, and compares.

extension FeedModel {
    /// A change to be made together with others, and what should come of it.
    struct Planned {
        var change: Change
        var check: (Outcome) throws -> Void
    }

    /// Does about `count` operations.
    public mutating func run(_ count: Int, in store: BlobStore) throws {
        let end = operationCount + count
        while operationCount < end {
            switch generator.below(100) {
            case 0..<70: try changeTogether(in: store)
            case 70..<73: try patchGroup(in: store)
            case 73: try deleteGroup(in: store)
            case 74: try deleteOwner(in: store)
            case 75..<85: now = now.adding(seconds: Int64(generator.below(200)))
            case 85..<95: try sweep(in: store)
            default:
                _ = try store.freeOrphans(byteCountMax: 1 << 20, bootMilliseconds: nil)
            }
            operationCount += 1
        }
    }

    /// 1…32 changes in one call.
    private mutating func changeTogether(in store: BlobStore) throws {
        var planned: [Planned] = []
        for _ in 0...generator.below(generator.chance(50) ? 3 : 32) {
            planned.append(try plan(in: store))
            operationCount += 1
        }
        let outcomes = try store.apply(
            planned.map { try CheckedChange($0.change, asOf: now) }, asOf: now,
            freeing: generator.chance(30) ? 1 << 20 : 0, isCommitting: generator.chance(3))
        try expect(outcomes.count == planned.count, "\(outcomes.count) outcomes")
        for (one, outcome) in zip(planned, outcomes) { try one.check(outcome) }
    }

    private mutating func plan(in store: BlobStore) throws -> Planned {
        let home = generator.below(Self.ownerCount)
        let id = "n-\(home)-\(generator.below(Self.idCount))"
        switch generator.below(80) {
        case 0..<26: return try planPublish(id, Self.owner(home), in: store)
        case 26..<29:
            let other = generator.below(Self.ownerCount + 1)
            return try planPublish(
                id, other == Self.ownerCount ? nil : Self.owner(other), in: store)
        case 29..<33: return try planPayload(id, Self.owner(home), in: store)
        case 33..<58: return planPatch(id)
        case 58..<64: return planResponse(id)
        case 64..<70:
            let device = "d\(generator.below(4))"
            let found = live(id) != nil
            removed(id, device: device)
            return Planned(change: .remove(Removal(id: id, device: device))) {
                try Self.checkRemoved($0, id, found)
            }
        case 70..<72:
            let until = now.adding(seconds: Int64(1 + generator.below(400)))
            return Planned(change: .hold(BlobHold(try payload(in: store), until: until))) {
                guard case .held = $0 else { throw FeedModelError("a hold: \($0)") }
            }
        default:
            let found = live(id) != nil
            removed(id, device: nil)
            return Planned(change: .delete(id: id)) { try Self.checkRemoved($0, id, found) }
        }
    }

    // MARK: - Publishing

    private mutating func payload(in store: BlobStore) throws -> PreparedPayload {
        var writer = store.makePayloadWriter()
        let number = generator.below(20)
        // Some so long that the log has their places alone.
        let count = number < 17 ? 1 + number * number * 7 : number * 3_300
        let bytes = [UInt8](repeating: UInt8(number), count: count)
        try writer.append(bytes.span.bytes)
        return try writer.finish(mediaType: "image/png")
    }

    private mutating func planPublish(
        _ id: String, _ owner: String?, in store: BlobStore
    ) throws -> Planned {
        let expiresAt = now.adding(seconds: Int64(5 + generator.below(3_000)))
        var draft = NotificationDraft(id: id, expiry: .at(expiresAt))
        draft.owner = owner
        draft.message = "m\(generator.below(1_000))"
        draft.details.title = generator.chance(30) ? "t\(generator.below(5))" : nil
        draft.details.app = anyApp()
        draft.details.group = generator.chance(40) ? "g\(generator.below(3))" : nil
        draft.device = generator.chance(50) ? "d\(generator.below(4))" : nil
        var digest: Digest?
        if generator.chance(60) {
            let payload = try payload(in: store)
            digest = payload.digest
            draft.parts = [
                DraftPart(name: "payload", mediaType: "image/png", content: .payload(payload))
            ]
        }
        let old = items[id]
        let isLive = live(id) != nil
        if generator.chance(6) {
            draft.condition = isLive ? .absent : .exists
            return refused(.publishNotification(draft), id)
        }
        let revision = next()
        var item = Item(
            owner: owner, app: draft.details.app, title: draft.details.title,
            message: draft.message,
            group: draft.details.group, device: draft.device,
            createdAt: now, expiresAt: expiresAt, revision: revision, sequence: revision,
            digest: digest)
        if isLive, let old {
            item.createdAt = old.createdAt
            if old.owner == owner, old.app == item.app { item.sequence = old.sequence }
        }
        item = replace(id, old, by: item, isLive: isLive)
        return Planned(change: .publishNotification(draft)) { outcome in
            guard case .published(let record, let created) = outcome else {
                throw FeedModelError("publishing \(id): \(outcome)")
            }
            try expect(created == !isLive, "publishing \(id): created is \(created)")
            try item.check(record, id)
        }
    }

    /// A payload alone, as the oldest of clients publish.
    private mutating func planPayload(
        _ id: String, _ owner: String, in store: BlobStore
    ) throws -> Planned {
        let payload = try payload(in: store)
        let expiresAt = now.adding(seconds: Int64(5 + generator.below(3_000)))
        let message = "p\(generator.below(1_000))"
        let revision = next()
        let old = items[id]
        let live = live(id)
        let given = live == nil || generator.chance(20) ? owner : nil
        let app = generator.chance(30) ? anyApp() : nil
        var item = Item(
            owner: given, app: app, message: message, createdAt: now, expiresAt: expiresAt,
            revision: revision, sequence: revision, digest: payload.digest)
        if let live {
            item.owner = given ?? live.owner
            item.app = app ?? live.app
            item.title = live.title
            item.group = live.group
            item.isRead = live.isRead
            item.state = live.state
            item.responseKeys = live.responseKeys
            item.createdAt = live.createdAt
            if live.owner == item.owner, live.app == item.app { item.sequence = live.sequence }
        }
        item = replace(id, old, by: item, isLive: live != nil)
        return Planned(
            change: .publish(
                Publication(
                    id: id, payload: payload, owner: given, app: app, message: message,
                    expiry: .at(expiresAt)))
        ) { outcome in
            guard case .published(let record, _) = outcome else {
                throw FeedModelError("publishing the payload of \(id): \(outcome)")
            }
            try item.check(record, id)
        }
    }

    /// - Returns: the item with its revision: one that goes from one app of its owner to another
    ///   takes two.
    private mutating func replace(
        _ id: String, _ old: Item?, by item: Item, isLive: Bool
    ) -> Item {
        var item = item
        if let old, old.owner != item.owner || old.app != item.app && old.owner != nil {
            leave(
                id, old, at: item.revision, isLive ? .deleted : .expired,
                device: isLive ? item.device : nil)
            if old.owner == item.owner {
                item.revision = next()
                item.sequence = item.revision
            }
        }
        keep(id, item)
        return item
    }

    // MARK: - Changing

    private mutating func planPatch(_ id: String) -> Planned {
        var patch = NotificationPatch(id: id)
        patch.device = "d\(generator.below(4))"
        guard var item = live(id) else {
            patch.isRead = .set(true)
            return Planned(change: .patch(patch)) { try Self.checkMissing($0, id) }
        }
        let before = item
        if generator.chance(6) {
            patch.isRead = .set(!item.isRead)
            patch.condition = .revisions([item.revision - 1])
            return refused(.patch(patch), id)
        }
        if generator.chance(20) { patch.condition = .revisions([item.revision, 0]) }
        if generator.chance(67) {
            switch generator.below(5) {
            case 0:
                item.isRead.toggle()
                patch.isRead = .set(item.isRead)
            case 1:
                item.state = ActionState.allCases[generator.below(4)]
                patch.actionState = .set(item.state)
            case 2:
                item.group = generator.chance(70) ? "g\(generator.below(3))" : nil
                patch.group = item.group.map { .set($0) } ?? .clear
            case 3:
                item.title = generator.chance(70) ? "t\(generator.below(5))" : nil
                patch.title = item.title.map { .set($0) } ?? .clear
            default:
                item.expiresAt = now.adding(seconds: Int64(5 + generator.below(3_000)))
                patch.expiresAt = .set(item.expiresAt)
            }
        } else {
            // What it is already.
            patch.isRead = .set(item.isRead)
            patch.message = item.message.map { .set($0) } ?? .keep
        }
        return planChange(.patch(patch), id, before, &item, device: patch.device)
    }

    /// A change whose condition does not hold.
    private func refused(_ change: Change, _ id: String) -> Planned {
        Planned(change: change) { outcome in
            guard case .refused(.preconditionFailed) = outcome else {
                throw FeedModelError("a change of \(id) whose condition does not hold: \(outcome)")
            }
        }
    }

    /// What makes a response the same when it comes again.
    fileprivate static func responseKey(_ key: String, from device: String?) -> String {
        "\(device ?? "")/\(key)"
    }

    private mutating func planResponse(_ id: String) -> Planned {
        var response = ActionResponse(
            id: id, action: generator.chance(50) ? "default" : "dismiss",
            key: generator.chance(50) ? "k\(generator.below(6))" : nil)
        response.device = "d\(generator.below(4))"
        guard var item = live(id) else {
            return Planned(change: .respond(response)) { try Self.checkMissing($0, id) }
        }
        let before = item
        let isDismissal = response.action == "dismiss"
        // The key tells what it was used for, so that the model need not remember that.
        if let key = response.key { response.key = "\(key)-\(response.action)" }
        let repeated = response.key.map { Self.responseKey($0, from: response.device) }
        if let repeated, item.responseKeys.contains(repeated) {
            return Planned(change: .respond(response)) { outcome in
                guard case .unchanged(let record) = outcome else {
                    throw FeedModelError("the second response \(repeated) to \(id): \(outcome)")
                }
                try before.check(record, id)
            }
        }
        item.responseKeys.append(repeated)
        if item.responseKeys.count > StoreLimits.responseCountMax {
            item.responseKeys.removeFirst()
        }
        item.state = isDismissal ? .dismissed : .activated
        if !isDismissal { item.isRead = true }
        return planChange(.respond(response), id, before, &item, device: response.device)
    }

    private mutating func planChange(
        _ change: Change, _ id: String, _ before: Item, _ item: inout Item, device: String?
    ) -> Planned {
        guard item != before else {
            return Planned(change: change) { outcome in
                guard case .unchanged(let record) = outcome else {
                    throw FeedModelError("a change of \(id) that changes nothing: \(outcome)")
                }
                try before.check(record, id)
            }
        }
        item.revision = next()
        item.device = device
        keep(id, item)
        let after = item
        return Planned(change: change) { outcome in
            guard case .changed(let record) = outcome else {
                throw FeedModelError("a change of \(id): \(outcome)")
            }
            try after.check(record, id)
        }
    }

    private mutating func removed(_ id: String, device: String?) {
        guard let item = live(id) else { return }
        leave(id, item, at: next(), .deleted, device: device)
        items[id] = nil
    }

    private static func checkRemoved(_ outcome: Outcome, _ id: String, _ found: Bool) throws {
        switch outcome {
        case .deleted where found: break
        case .notFound where !found: break
        default: throw FeedModelError("removing \(id), which is there: \(found): \(outcome)")
        }
    }

    private static func checkMissing(_ outcome: Outcome, _ id: String) throws {
        guard case .notFound = outcome else {
            throw FeedModelError("changing \(id), which is not there: \(outcome)")
        }
    }

    // MARK: - Many at once

    private mutating func patchGroup(in store: BlobStore) throws {
        let owner = Self.owner(generator.below(Self.ownerCount))
        let group = "g\(generator.below(3))"
        let isRead = generator.chance(50)
        var patch = NotificationPatch(id: "")
        patch.isRead = .set(isRead)
        patch.device = "d\(generator.below(4))"
        let app = anyApp()
        var change = LongChange.patchGroup(owner: owner, group: group, app: app, patch)
        while try !store.advance(&change, asOf: now) {}
        let members = members(of: group, owner, app)
        var changed = 0
        for (id, item) in members where item.isRead != isRead {
            var item = item
            item.isRead = isRead
            item.revision = next()
            item.device = patch.device
            keep(id, item)
            changed += 1
        }
        try expect(
            change.matched == members.count && change.changed == changed,
            "\(owner)'s group \(group): \(change.changed) of \(change.matched) instead of \(changed) of \(members.count)"
        )
    }

    /// In the order of the history, oldest first.
    private func members(
        of group: String, _ owner: String, _ app: String?
    ) -> [(String, Item)] {
        ids(of: owner).compactMap { id -> (String, Item)? in
            guard let item = live(id), item.group == group, app == nil || item.app == app
            else { return nil }
            return (id, item)
        }.sorted { $0.1.sequence < $1.1.sequence }
    }

    private mutating func deleteGroup(in store: BlobStore) throws {
        let owner = Self.owner(generator.below(Self.ownerCount))
        let group = "g\(generator.below(3))"
        let app = anyApp()
        let device = generator.chance(50) ? "d\(generator.below(4))" : nil
        var change = LongChange.deleteGroup(
            owner: owner, group: group, app: app, device: device)
        while try !store.advance(&change, asOf: now) {}
        let members = members(of: group, owner, app)
        for (id, _) in members { removed(id, device: device) }
        try expect(
            change.changed == members.count,
            "\(owner)'s group \(group) had \(members.count), not \(change.changed)")
    }

    private mutating func deleteOwner(in store: BlobStore) throws {
        let owner = Self.owner(generator.below(Self.ownerCount))
        var change = LongChange.deleteOwner(owner)
        while try !store.advance(&change, asOf: now) {}
        let all = ids(of: owner)
        for id in all {
            items[id] = nil
            _ = next()
        }
        let hadEntries = !(latest[owner] ?? [:]).isEmpty
        latest[owner] = nil
        try expect(
            change.changed == all.count, "\(owner) had \(all.count), not \(change.changed)")
        if hadEntries {
            marks[owner] = (revision, now.adding(seconds: Self.retentionSeconds))
        }
    }

    mutating func sweep(in store: BlobStore) throws {
        var expired = 0
        // What is due is looked for in a snapshot.
        try store.commitPending()
        while true {
            let result = try store.sweepExpired(asOf: now, limit: 1 + generator.below(64))
            try expect(result.damaged == 0, "\(result.damaged) are damaged")
            expired += result.expired
            if !result.more { break }
        }
        let due = items.filter { $0.value.expiresAt <= now }.sorted {
            ($0.value.expiresAt.milliseconds, $0.key) < ($1.value.expiresAt.milliseconds, $1.key)
        }
        for (id, item) in due {
            leave(id, item, at: next(), .expired, device: nil)
            items[id] = nil
        }
        try expect(expired == due.count, "\(expired) were swept instead of \(due.count)")
        for (owner, entries) in latest {
            for (name, entry) in entries {
                guard let end = entry.end, end <= now else { continue }
                horizon = max(horizon, entry.revision)
                latest[owner]?[name] = nil
            }
        }
        for (owner, mark) in marks where mark.end <= now {
            horizon = max(horizon, mark.revision)
            marks[owner] = nil
        }
    }
}

extension FeedModel.Item {
    /// Throws what of a record is not as it should be.
    func check(_ record: Record, _ id: String) throws {
        func same<Value: Equatable>(_ what: String, _ found: Value, _ wanted: Value) throws {
            try expect(found == wanted, "\(id): \(what) is \(found) instead of \(wanted)")
        }
        try same("id", record.id, id)
        try same("owner", record.owner, owner)
        try same("app", record.app, app)
        try same("title", record.title, title)
        try same("message", record.message, message)
        try same("group", record.details.group, group)
        try same("read", record.details.isRead, isRead)
        try same("state", record.details.actionState, state)
        try same("device", record.details.device, device)
        try same(
            "responses",
            record.details.responses.map { response in
                response.key.map { FeedModel.responseKey($0, from: response.device) }
            }, responseKeys)
        try same("created at", record.createdAt, createdAt)
        try same("expires at", record.expiresAt, expiresAt)
        try same("revision", record.revision, revision)
        try same("sequence", record.sequence, owner == nil ? record.sequence : sequence)
        try same("digest", record.part(named: "payload")?.digest, digest)
    }
}
