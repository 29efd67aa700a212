import Bytes
import Notifications

/// A subscription to an owner's changes. The connection then serves nothing else.
public enum Watch {
    /// The client's request (`docs/PROTOCOL.md`). A head that ends after the app is for all platforms and target hosts.
    public struct Request: Sendable, Hashable {
        /// The size of the part before the texts, in bytes.
        public static let fixedByteCount = 8

        /// The most changes in one answer, as sent: 0…1,000.
        public var limit: Int
        /// The owner of the changes.
        public var owner: Slice
        /// The start: `0`, `latest`, or 32 characters from an answer.
        public var cursor: Slice
        /// Only read notifications, or only unread ones; nil: all.
        public var isRead: Bool?
        /// Only notifications with this action state, 0…3; nil: all.
        public var actionState: UInt8?
        /// Only notifications of this group, or an empty slice.
        public var group: Slice
        /// Only notifications of this app, or an empty slice.
        public var app: Slice
        /// Only notifications for this platform, or an empty slice.
        public var platform: Slice
        /// Only notifications for this target host, or an empty slice.
        public var targetHost: Slice

        /// Reads a whole head and checks its texts. The daemon decides whether the cursor belongs to this owner and
        /// store.
        public static func parse(
            _ head: RawSpan, flags: RequestFlags = []
        ) throws(ProtocolError) -> Request {
            try head.checkFixedPart(fixedByteCount, .watch)
            var texts = HeadTexts(after: fixedByteCount)
            let owner = texts.next(Int(head.byte(2)))
            let cursor = texts.next(Int(head.byte(3)))
            let group = texts.next(Int(head.byte(6)))
            let app = texts.next(Int(head.byte(7)))
            var (platform, targetHost) = (Slice.empty, Slice.empty)
            // At least one of the two is not empty.
            if texts.byteCountLeft(in: head) >= 3 {
                let counts = texts.next(2).of(head)
                platform = texts.next(Int(counts.byte(0)))
                targetHost = texts.next(Int(counts.byte(1)))
            }
            try texts.checkEnd(of: head, .watch)
            let limit = Int(head.integer(0, as: UInt16.self))
            try check(limit, owner: owner.of(head), cursor: cursor.of(head))
            try check(
                group: group.of(head), app: app.of(head), platform: platform.of(head),
                targetHost: targetHost.of(head))
            let read = head.byte(4)
            try require(
                read <= 2, .badQuery, "byte 4 of the head of watch is \(read); it must be 0 to 2")
            let state = head.byte(5)
            try require(
                state <= actionStateCount, .badActionState,
                "byte 5 of the head of watch is \(state); it must be 0 to \(actionStateCount)")
            return Request(
                limit: limit, owner: owner, cursor: cursor, isRead: read == 0 ? nil : read == 2,
                actionState: state == 0 ? nil : state - 1, group: group, app: app,
                platform: platform, targetHost: targetHost)
        }

        /// The number of action states.
        public static let actionStateCount: UInt8 = 4

        /// The most changes in one answer, 1…1,000.
        public var pageLimit: Int { limit == 0 ? WireLimits.feedPageLimitDefault : limit }

        /// Appends the head. A limit of 0 means 100; empty texts match all. Throws before anything is appended.
        public static func compose(
            limit: Int = 0, owner: String, cursor: String, isRead: Bool? = nil,
            actionState: UInt8? = nil, group: String = "", app: String = "",
            platform: String = "", targetHost: String = "", into out: inout [UInt8]
        ) throws(ProtocolError) {
            try check(limit, owner: owner.utf8.span.bytes, cursor: cursor.utf8.span.bytes)
            try check(
                group: group.utf8.span.bytes, app: app.utf8.span.bytes,
                platform: platform.utf8.span.bytes, targetHost: targetHost.utf8.span.bytes)
            if let actionState, actionState >= actionStateCount {
                throw ProtocolError(
                    .badActionState,
                    "the action state is \(actionState); it must be 0 to \(actionStateCount - 1)")
            }
            out.append(littleEndian: UInt16(limit))
            out.append(UInt8(owner.utf8.count))
            out.append(UInt8(cursor.utf8.count))
            out.append(isRead.map { $0 ? 2 : 1 } ?? 0)
            out.append(actionState.map { $0 + 1 } ?? 0)
            out.append(UInt8(group.utf8.count))
            out.append(UInt8(app.utf8.count))
            for text in [owner, cursor, group, app] { out.append(contentsOf: text.utf8) }
            guard !platform.isEmpty || !targetHost.isEmpty else { return }
            out.append(UInt8(platform.utf8.count))
            out.append(UInt8(targetHost.utf8.count))
            for text in [platform, targetHost] { out.append(contentsOf: text.utf8) }
        }

        private static func check(
            group: RawSpan, app: RawSpan, platform: RawSpan, targetHost: RawSpan
        ) throws(ProtocolError) {
            if !group.isEmpty { try TextKind.group.check(group) }
            if !app.isEmpty { try TextKind.app.check(app) }
            if !platform.isEmpty { try TextKind.platform.check(platform) }
            if !targetHost.isEmpty { try TextKind.targetHost.check(targetHost) }
        }

        private static func check(
            _ limit: Int, owner: RawSpan, cursor: RawSpan
        ) throws(ProtocolError) {
            let max = WireLimits.feedPageLimitMax
            try require(
                limit >= 0 && limit <= max, .badLimit,
                "the page size is \(limit); the limit is \(max)", limit: max)
            try TextKind.owner.check(owner)
            let isPlace =
                cursor.byteCount == WireLimits.cursorByteCount && UTF8Text.fault(in: cursor) == nil
            guard isPlace || cursor.equals("0") || cursor.equals("latest") else {
                throw ProtocolError(
                    .badCursor,
                    "the cursor \(cursor.excerpt()) must be 0, latest, or the \(WireLimits.cursorByteCount) bytes of an answer"
                )
            }
        }
    }

    /// The daemon's repeated answer (`docs/PROTOCOL.md`). The page is the body.
    public struct Response: Sendable, Hashable {
        /// The size of the head, in bytes.
        public static let byteCount = 40

        /// The number of changes in the body.
        public var changeCount: UInt32
        /// Whether the next answer follows immediately.
        public var hasMore: Bool
        /// The position of the cursor in the head: 32 characters.
        public var next: Slice { Slice(offset: 8, count: WireLimits.cursorByteCount) }

        /// Creates an answer, whose cursor is passed to `compose`.
        public init(changeCount: UInt32, hasMore: Bool) {
            self.changeCount = changeCount
            self.hasMore = hasMore
        }

        /// Reads a whole head.
        public static func parse(_ head: RawSpan) throws(ProtocolError) -> Response {
            try head.checkFixedPart(byteCount, .watch)
            try HeadTexts(after: byteCount).checkEnd(of: head, .watch)
            try head.checkReserved(from: 5, upTo: 8, .watch)
            try require(
                head.byte(4) <= 1, .malformed,
                "byte 4 of the head of watch is \(head.byte(4)); it must be 0 or 1")
            return Response(
                changeCount: head.integer(0, as: UInt32.self), hasMore: head.byte(4) == 1)
        }

        /// Appends the head. The cursor must be 32 bytes, like all cursors.
        public func compose(next: RawSpan, into out: inout [UInt8]) {
            precondition(next.byteCount == WireLimits.cursorByteCount)
            out.append(littleEndian: changeCount)
            out.append(hasMore ? 1 : 0)
            out.appendZeros(3)
            out.append(contentsOf: next)
        }
    }
}
