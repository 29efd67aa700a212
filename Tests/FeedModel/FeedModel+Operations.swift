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
        store.setQuotas(quotas)
        while operationCount < end {
            switch generator.below(100) {
            case 0..<70: try changeTogether(in: store)
            case 70..<73: try patchGroup(in: store)
            case 73: try deleteGroup(in: store)
            case 74: try deleteOwner(in: store)
            case 75..<85: now = now.adding(seconds: Int64(generator.below(200)))
            case 85..<93: try sweep(in: store)
            case 93, 94:
                if hasQuotas { changeQuotas(of: store) }
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
            checked: planned.map { try CheckedChange($0.change, asOf: now) }, asOf: now,
            freeing: generator.chance(30) ? 1 << 20 : 0)
        try expect(outcomes.count == planned.count, "\(outcomes.count) outcomes")
        for (one, outcome) in zip(planned, outcomes) { try one.check(outcome) }
        // Some changes come while what was there before is being committed.
        if generator.chance(5) { try store.beginCheckpoint() }
        if generator.chance(5) { try store.checkpoint() }
        if generator.chance(2) { try store.commitPending() }
    }

    private mutating func plan(in store: BlobStore) throws -> Planned {
        let home = generator.below(Self.ownerCount)
        let id = "n-\(home)-\(generator.below(Self.idCount))"
        switch generator.below(83) {
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
        case 70..<72: return try planHold(in: store)
        case 72..<75: return planCategory()
        default:
            let found = live(id) != nil
            removed(id, device: nil)
            return Planned(change: .delete(id: id)) { try Self.checkRemoved($0, id, found) }
        }
    }

    // MARK: - Publishing

    private mutating func payload(
        _ content: Int, in store: BlobStore
    ) throws -> PreparedPayload {
        var writer = store.makePayloadWriter()
        let bytes = Self.bytes(ofContent: content)
        try writer.append(bytes.span.bytes)
        let payload = try writer.finish(mediaType: "image/png")
        digests[content] = payload.digest
        return payload
    }

    private mutating func anyDetails() -> NotificationDetails {
        var details = NotificationDetails()
        details.title = generator.chance(30) ? "t\(generator.below(5))" : nil
        details.app = anyApp()
        details.group = generator.chance(40) ? "g\(generator.below(3))" : nil
        details.platforms = [[], [], ["ios"], ["ios", "web"]][generator.below(4)]
        details.targetHost = generator.chance(20) ? "host-\(generator.below(2))" : nil
        details.actions = generator.chance(20) ? [] : nil
        details.priority = generator.chance(20) ? .low : .high
        details.displayTTLSeconds = generator.chance(20) ? 60 : 0
        details.isRead = generator.chance(10)
        details.actionState = generator.chance(10) ? .snoozed : .none
        return details
    }

    private mutating func anyEnd() -> Timestamp {
        now.adding(seconds: Int64(5 + generator.below(3_000)))
    }

    private mutating func planPublish(
        _ id: String, _ owner: String?, in store: BlobStore
    ) throws -> Planned {
        let expiresAt = anyEnd()
        var draft = NotificationDraft(id: id, expiry: .at(expiresAt))
        draft.owner = owner
        draft.message = "m\(generator.below(1_000))"
        draft.richType = generator.chance(20) ? "img" : nil
        draft.details = anyDetails()
        draft.device = generator.chance(50) ? "d\(generator.below(4))" : nil
        var item = Item(
            owner: owner, message: draft.message, richType: draft.richType,
            details: draft.details, device: draft.device, createdAt: now, expiresAt: expiresAt)
        for name in ["payload", "icon"] where generator.chance(40) {
            let content = generator.below(Self.contentCount)
            item.parts[name] = content
            let source: DraftPart.Content
            if generator.chance(30), isStored(content), let digest = digests[content] {
                source = .stored(digest)
            } else {
                source = .payload(try payload(content, in: store))
            }
            draft.parts.append(DraftPart(name: name, mediaType: "image/png", content: source))
        }
        let isNew = live(id) == nil
        if generator.chance(20) { draft.condition = isNew ? .absent : .exists }
        if generator.chance(6) {
            draft.condition = isNew ? .exists : .absent
            return conditionFails(.publishNotification(draft), id)
        }
        return planned(.publishNotification(draft), id, item, isNew: isNew)
    }

    /// A payload alone, as the oldest of clients publish.
    private mutating func planPayload(
        _ id: String, _ owner: String, in store: BlobStore
    ) throws -> Planned {
        let content = generator.below(Self.contentCount)
        let part = generator.chance(70) ? "payload" : "icon"
        let live = live(id)
        var publication = Publication(
            id: id, part: part, payload: try payload(content, in: store),
            owner: live == nil || generator.chance(20) ? owner : nil,
            app: generator.chance(30) ? anyApp() : nil, message: "p\(generator.below(1_000))",
            expiry: .at(anyEnd()))
        publication.title = generator.chance(20) ? "t\(generator.below(5))" : nil
        guard case .at(let expiresAt) = publication.expiry else { preconditionFailure() }
        var item = live ?? Item(createdAt: now, expiresAt: expiresAt)
        item.expiresAt = expiresAt
        item.message = publication.message
        item.device = nil
        item.owner = publication.owner ?? item.owner
        item.details.app = publication.app ?? item.app
        item.details.title = publication.title ?? item.details.title
        let isNew = item.parts.updateValue(content, forKey: part) == nil
        return planned(.publish(publication), id, item, isNew: isNew)
    }

    /// A publish that makes that item, unless a quota is in its way. One that goes from one app of its owner to another
    /// takes two revisions.
    private mutating func planned(
        _ change: Change, _ id: String, _ item: Item, isNew: Bool
    ) -> Planned {
        var item = item
        let (old, live) = (items[id], live(id))
        if let excess = excess(item.owner, { $0.put(id, item) }, { $0.put(id, old) }) {
            return refused(change, by: excess)
        }
        item.revision = next()
        item.sequence = item.revision
        if let live {
            item.createdAt = live.createdAt
            if live.owner == item.owner, live.app == item.app { item.sequence = live.sequence }
        }
        if let old, old.owner != item.owner || old.app != item.app && old.owner != nil {
            leave(
                id, old, at: item.revision, live == nil ? .expired : .deleted,
                device: live == nil ? nil : item.device)
            if old.owner == item.owner {
                item.revision = next()
                item.sequence = item.revision
            }
        }
        keep(id, item)
        let after = item
        return Planned(change: change) { outcome in
            guard case .published(let record, isNew) = outcome else {
                throw FeedModelError("publishing \(id), new: \(isNew): \(outcome)")
            }
            try after.check(record, id)
        }
    }

    private mutating func planHold(in store: BlobStore) throws -> Planned {
        let content = generator.below(Self.contentCount)
        let end = now.adding(seconds: Int64(1 + generator.below(400)))
        let change = Change.hold(BlobHold(try payload(content, in: store), until: end))
        let (old, isNew) = (held[content], !isStored(content))
        let until = max(end, old ?? end)
        if let excess = excess(nil, { $0.held[content] = until }, { $0.held[content] = old }) {
            return refused(change, by: excess)
        }
        held[content] = until
        return Planned(change: change) { outcome in
            guard case .held(let blob, isNew) = outcome, blob.until == until else {
                throw FeedModelError("a hold until \(until), new: \(isNew): \(outcome)")
            }
        }
    }

    private mutating func planCategory() -> Planned {
        let name = Name(id: "c\(generator.below(3))", app: anyApp())
        let old = categories[name]
        guard generator.chance(70) else {
            categories[name] = nil
            if old != nil { _ = next() }
            return Planned(change: .removeCategory(name: name.id, app: name.app)) {
                try Self.checkRemoved($0, name.id, old != nil)
            }
        }
        let actions =
            generator.chance(50) ? [] : [NotificationAction(identifier: "yes", title: "Yes")]
        let revision = old.flatMap { $0.actions == actions ? $0.revision : nil } ?? next()
        categories[name] = (actions, revision)
        let category = Category(name: name.id, actions: actions, app: name.app)
        return Planned(change: .setCategory(category)) { outcome in
            guard case .categorySet(let set, old == nil) = outcome, set.revision == revision
            else { throw FeedModelError("setting \(name), revision \(revision): \(outcome)") }
        }
    }

    // MARK: - Quotas

    /// What a quota refuses: what is used of it, and by how much that would grow.
    private typealias Excess = (setting: QuotaSetting, used: Int, growth: Int)

    private mutating func changeQuotas(of store: BlobStore) {
        quotas.notificationCountMax = [0, 150, 600][generator.below(3)]
        quotas.byteCountMax = [0, 70_000, 140_000][generator.below(3)]
        quotas.ownerNotificationCountMax = [0, 4, 15][generator.below(3)]
        quotas.ownerByteCountMax = [0, 40_000, 200_000][generator.below(3)]
        store.setQuotas(quotas)
    }

    /// The first quota that a change would pass which makes an owner's notifications grow.
    private mutating func excess(
        _ owner: String?, _ change: (inout FeedModel) -> Void, _ undo: (inout FeedModel) -> Void
    ) -> Excess? {
        guard quotas != Quotas() else { return nil }
        let before = uses(owner)
        change(&self)
        let after = uses(owner)
        undo(&self)
        for ((setting, used), (_, wanted)) in zip(before, after) {
            let limit = quotas.limit(of: setting)
            if limit > 0, wanted > max(used, limit) { return (setting, used, wanted - used) }
        }
        return nil
    }

    /// In the order in which they are looked at.
    private func uses(_ owner: String?) -> [(QuotaSetting, Int)] {
        let own = owner.flatMap { usage[$0] } ?? (0, 0)
        return [
            (.notificationCountMax, items.count), (.byteCountMax, storedByteCount),
            (.ownerNotificationCountMax, own.notifications), (.ownerByteCountMax, own.byteCount),
        ]
    }

    private func refused(_ change: Change, by excess: Excess) -> Planned {
        Planned(change: change) { outcome in
            guard case .refused(.quotaExceeded(let found)) = outcome,
                (found.setting, found.used, found.growth) == excess
            else { throw FeedModelError("what passes \(excess): \(outcome)") }
        }
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
            patch.isRead = .set(!item.details.isRead)
            patch.condition = .revisions([item.revision - 1])
            return conditionFails(.patch(patch), id)
        }
        if generator.chance(20) { patch.condition = .revisions([item.revision, 0]) }
        if generator.chance(67) {
            changeField(of: &item, &patch)
        } else {
            // What it is already.
            patch.isRead = .set(item.details.isRead)
            patch.message = item.message.map { .set($0) } ?? .keep
        }
        guard !item.isEmpty else {
            return Planned(change: .patch(patch)) { outcome in
                guard case .refused(.emptyNotification) = outcome else {
                    throw FeedModelError("a patch that leaves nothing of \(id): \(outcome)")
                }
            }
        }
        return planChange(.patch(patch), id, before, &item, device: patch.device)
    }

    private mutating func changeField(of item: inout Item, _ patch: inout NotificationPatch) {
        func set<Value>(
            _ field: inout Value?, _ patched: inout FieldPatch<Value>, _ value: Value?
        ) {
            field = value
            patched = value.map { .set($0) } ?? .clear
        }
        let isSet = generator.chance(70)
        let number = generator.below(5)
        switch generator.below(12) {
        case 0:
            item.details.isRead.toggle()
            patch.isRead = item.details.isRead ? .set(true) : .clear
        case 1:
            let state = ActionState.allCases[number % 4]
            item.details.actionState = state
            patch.actionState = state == .none ? .clear : .set(state)
        case 2: set(&item.details.group, &patch.group, isSet ? "g\(number % 3)" : nil)
        case 3: set(&item.details.title, &patch.title, isSet ? "t\(number)" : nil)
        case 4: set(&item.message, &patch.message, isSet ? "m\(number)" : nil)
        case 5: set(&item.richType, &patch.richType, isSet ? "r\(number)" : nil)
        case 6: set(&item.details.targetHost, &patch.targetHost, isSet ? "host-0" : nil)
        case 7: set(&item.details.actions, &patch.actions, isSet ? [] : nil)
        case 8:
            item.details.platforms = isSet ? ["web"] : []
            patch.platforms = isSet ? .set(["web"]) : .clear
        case 9:
            item.details.priority = isSet ? .low : .high
            patch.priority = isSet ? .set(.low) : .clear
        case 10:
            item.details.displayTTLSeconds = isSet ? 5 : 0
            patch.displayTTLSeconds = isSet ? .set(5) : .clear
        default:
            item.expiresAt = anyEnd()
            patch.expiresAt = .set(item.expiresAt)
        }
    }

    private func conditionFails(_ change: Change, _ id: String) -> Planned {
        Planned(change: change) { outcome in
            guard case .refused(.preconditionFailed) = outcome else {
                throw FeedModelError("a change of \(id) whose condition does not hold: \(outcome)")
            }
        }
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
        response.staysOnScreen = !isDismissal && generator.chance(20)
        let name = "\(response.key ?? "-") \(response.device ?? "-") "
        let said = "\(name)\(response.action) \(response.staysOnScreen) "
        if response.key != nil, let first = item.responses.first(where: { $0.hasPrefix(name) }) {
            let isSame = first.hasPrefix(said)
            return Planned(change: .respond(response)) { outcome in
                switch outcome {
                case .unchanged(let record) where isSame: try before.check(record, id)
                case .refused(.responseConflict) where !isSame: break
                default: throw FeedModelError("\(response) a second time: \(outcome)")
                }
            }
        }
        let all = item.responses + ["\(said)\(now)"]
        item.responses = all.suffix(StoreLimits.responseCountMax)
        if !response.staysOnScreen {
            item.details.actionState = isDismissal ? .dismissed : .activated
            if !isDismissal { item.details.isRead = true }
        }
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
        put(id, nil)
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
        for (id, item) in members where item.details.isRead != isRead {
            var item = item
            item.details.isRead = isRead
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
            guard let item = live(id), item.details.group == group, app == nil || item.app == app
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
            put(id, nil)
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
        var (expired, holdsEnded) = (0, 0)
        // What is due is looked for in a snapshot.
        try store.commitPending()
        while true {
            let result = try store.sweepExpired(asOf: now, limit: 1 + generator.below(64))
            try expect(result.damaged == 0, "\(result.damaged) are damaged")
            expired += result.expired
            holdsEnded += result.holdsEnded
            if !result.more { break }
        }
        let due = items.filter { $0.value.expiresAt <= now }.sorted {
            ($0.value.expiresAt.milliseconds, $0.key) < ($1.value.expiresAt.milliseconds, $1.key)
        }
        for (id, item) in due {
            leave(id, item, at: next(), .expired, device: nil)
            put(id, nil)
        }
        try expect(expired == due.count, "\(expired) were swept instead of \(due.count)")
        let ended = held.count { $0.value <= now }
        try expect(holdsEnded == ended, "\(holdsEnded) holds ended instead of \(ended)")
        held = held.filter { $0.value > now }
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

// MARK: - Comparing

extension FeedModel {
    /// Throws unless the store lists, by id, what has not expired, has it to the byte, swept or not, and finds each
    /// content by its digest as long as something that has not expired has it.
    mutating func checkContents(in store: BlobStore) throws {
        let now = now
        var listed: [String] = []
        var next: String? = ""
        while let id = next {
            let place = Array(id.utf8)
            let page = try store.withSnapshot { (snapshot) throws(StoreError) in
                try snapshot.records(after: place.span.bytes, limit: 40, asOf: now)
            }
            for record in page.records { try items[record.id]?.check(record, record.id) }
            listed += page.records.map(\.id)
            next = page.next
        }
        let there = items.filter { $0.value.expiresAt > now }
        let ids = there.keys.sorted()
        try expect(listed == ids, "the list is \(listed) instead of \(ids)")
        for id in ids where generator.chance(10) {
            for (part, content) in there[id]?.parts ?? [:] {
                let bytes = try store.ownedPayload(for: id, part: part, asOf: now)
                try expect(
                    bytes == Self.bytes(ofContent: content),
                    "\(part) of \(id) is not the content \(content)")
            }
        }
        let contents = Set(there.values.flatMap(\.parts.values))
        for (content, digest) in digests {
            let isThere = contents.contains(content) || held[content].map { $0 > now } == true
            let bytes = try store.ownedPayload(digest: digest, asOf: now)
            try expect(
                bytes == (isThere ? Self.bytes(ofContent: content) : nil),
                "the content \(content), which is there: \(isThere), by its digest")
        }
        let found = try store.categories().map { (Name(id: $0.name, app: $0.app), $0.revision) }
        try expect(
            Dictionary(uniqueKeysWithValues: found) == categories.mapValues(\.revision),
            "the categories are \(found)")
    }
}

extension FeedModel.Item {
    /// Texts, and what else a publisher says.
    private static let said: [(name: String, value: @Sendable (NotificationDetails) -> String)] = [
        ("title", { "\($0.title as Any)" }), ("app", { "\($0.app as Any)" }),
        ("group", { "\($0.group as Any)" }), ("actions", { "\($0.actions as Any)" }),
        ("platforms", { "\($0.platforms)" }), ("host", { "\($0.targetHost as Any)" }),
        ("priority", { "\($0.priority)" }), ("display time", { "\($0.displayTTLSeconds)" }),
        ("read", { "\($0.isRead)" }), ("state", { "\($0.actionState)" }),
        ("category", { "\($0.category as Any)" }), ("data", { "\($0.data as Any)" }),
    ]

    /// Throws what of a record is not as it should be.
    func check(_ record: Record, _ id: String) throws {
        func same<Value: Equatable>(_ what: String, _ found: Value, _ wanted: Value) throws {
            try expect(found == wanted, "\(id): \(what) is \(found) instead of \(wanted)")
        }
        try same("id", record.id, id)
        try same("owner", record.owner, owner)
        try same("message", record.message, message)
        try same("rich type", record.richType, richType)
        for (name, value) in Self.said { try same(name, value(record.details), value(details)) }
        try same("device", record.details.device, device)
        try same(
            "responses",
            record.details.responses.map {
                "\($0.key ?? "-") \($0.device ?? "-") \($0.action) \($0.staysOnScreen) \($0.at)"
            }, responses)
        try same("created at", record.createdAt, createdAt)
        try same("expires at", record.expiresAt, expiresAt)
        try same("revision", record.revision, revision)
        try same("sequence", record.sequence, owner == nil ? record.sequence : sequence)
        try same("parts", record.parts.map(\.name), parts.keys.sorted(by: >))
        try same("lengths", record.parts.map(\.byteCount).reduce(0, +), byteCount)
    }
}
