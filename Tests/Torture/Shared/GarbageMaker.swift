import BlobProtocol
import Synchronization
import TestSupport

/// Makes messages that are wrong in every way, out of ones that are right.
struct GarbageMaker {
    /// What is sent on one connection, and how many messages that is.
    struct Conversation {
        var bytes: [UInt8]
        var messageCount = 1
    }

    private let frames: [[UInt8]]
    private let requests: [[UInt8]]
    private var generator: SeededGenerator
    private let cuts: Cuts
    private var hasCutEverywhere = false

    init(generator: SeededGenerator, cuts: Cuts) throws {
        self.generator = generator
        self.cuts = cuts
        frames = try Self.makeFrames()
        requests = Self.makeRequests()
        cutCount = (frames + requests).reduce(0) { $0 + $1.count }
    }

    /// Where the next message is cut. All threads share one, so that together they
    /// miss no offset.
    final class Cuts: Sendable {
        private let number = Atomic<Int>(0)

        /// The next number from 0 on.
        func next() -> Int { number.wrappingAdd(1, ordering: .relaxed).oldValue }
    }

    /// How many messages it takes until every message was cut at every offset.
    private let cutCount: Int

    /// The next thing to say: first every message cut at every offset, then all kinds at random.
    mutating func next() -> Conversation {
        guard hasCutEverywhere else { return truncated() }
        return switch Int.random(in: 0..<100, using: &generator) {
        case 0..<25: orderly(true)
        case 25..<40: orderly(false)
        case 40..<70: truncated()
        case 70..<90: wild()
        default: noise()
        }
    }

    // MARK: Kinds

    /// Several messages that are whole, and of which some ask for things that make no sense.
    private mutating func orderly(_ isFrames: Bool) -> Conversation {
        var talk = Conversation(bytes: isFrames ? helloFrame : [], messageCount: 0)
        for _ in 0..<Int.random(in: 1...(isFrames ? 60 : 30), using: &generator) {
            var message = (isFrames ? frames : requests).randomElement(using: &generator) ?? []
            if isFrames {
                for _ in 0..<Int.random(in: 0...3, using: &generator) {
                    // Mostly a byte of the texts; else the opcode, the request id, or any byte after the header,
                    // which ends the connection more often.
                    let places =
                        (generator.chance(80) ? [] : [1, 4, 5, 6, 7] + Array(24..<message.count))
                        + Array(max(24, message.count - 16)..<max(25, message.count))
                    let place = places.randomElement(using: &generator) ?? 0
                    guard place < message.count else { continue }
                    message[place] =
                        generator.chance(30) ? 0 : UInt8.random(in: 0...255, using: &generator)
                }
            } else if generator.chance(50), let space = message.firstIndex(of: 0x20) {
                // One letter of the target becomes another visible one.
                let place = space + 2 + Int.random(in: 0..<24, using: &generator)
                if place < message.count, message[place] > 0x20 {
                    message[place] = UInt8.random(in: 0x21...0x7E, using: &generator)
                }
            }
            talk.bytes += message
            talk.messageCount += 1
        }
        return talk
    }

    /// A right message that ends too early, at the next offset.
    private mutating func truncated() -> Conversation {
        let number = cuts.next()
        hasCutEverywhere = hasCutEverywhere || number >= cutCount
        var offset = number % cutCount
        for (index, whole) in (frames + requests).enumerated() {
            if offset < whole.count {
                let isFrame = index < frames.count
                return Conversation(bytes: (isFrame ? helloFrame : []) + whole.prefix(offset))
            }
            offset -= whole.count
        }
        preconditionFailure("the offset is less than the sum of all lengths")
    }

    /// Right messages with bytes changed, put in, taken out, doubled and spliced.
    private mutating func wild() -> Conversation {
        let isFrame = generator.chance(50)
        let source = isFrame ? frames : requests
        var bytes = source.randomElement(using: &generator) ?? []
        for _ in 0..<Int.random(in: 1...6, using: &generator) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &generator)
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            case 1: bytes[place] = UInt8.random(in: 0...255, using: &generator)
            case 2: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: place)
            case 3: bytes.remove(at: place)
            case 4:
                let end = min(bytes.count, place + Int.random(in: 1...200, using: &generator))
                bytes.insert(contentsOf: bytes[place..<end], at: place)
            default:
                let other = source.randomElement(using: &generator) ?? []
                bytes.replaceSubrange(place..., with: other.suffix(other.count / 2))
            }
        }
        return Conversation(bytes: (isFrame && generator.chance(80) ? helloFrame : []) + bytes)
    }

    /// Bytes that mean nothing, though the first may look like the start of either dialect.
    private mutating func noise() -> Conversation {
        let count = generator.logarithmic(1...20_000)
        var bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: bytes[0] = Wire.requestMagic
        case 1: bytes[0] = UInt8.random(in: 0x41...0x5A, using: &generator)
        case 2: bytes = helloFrame + bytes
        default: break
        }
        return Conversation(bytes: bytes)
    }

    // MARK: Fixtures

    private static func makeFrames() throws -> [[UInt8]] {
        var frames: [[UInt8]] = []
        func add(
            _ operation: Opcode, _ flags: RequestFlags = [], body: [UInt8] = [],
            _ head: (inout [UInt8]) throws(ProtocolError) -> Void = { _ throws(ProtocolError) in }
        ) throws(ProtocolError) {
            var frame: [UInt8] = []
            try RequestFrame.compose(
                operation, flags: flags, requestID: UInt32(frames.count + 2),
                bodyByteCount: UInt64(body.count), into: &frame, head: head)
            frames.append(frame + body)
        }
        try add(.ping, body: Array("anyone there".utf8))
        let draft = Put.Draft(
            id: "garbage-1", part: "thumbnail", mediaType: "image/png", owner: "user-7",
            message: "a message", richType: "img", lifetime: .seconds(60))
        for body in [[UInt8](repeating: 7, count: 300), []] {
            try add(.put, draft.flags, body: body) { (out) throws(ProtocolError) in
                try draft.compose(into: &out)
            }
        }
        let range = WireRange(first: 10, count: 20)
        try add(.get) { (out) throws(ProtocolError) in
            try Get.Request.compose(id: "garbage-1", part: "thumbnail", range: nil, into: &out)
        }
        try add(.get, Get.flags(acceptsGzip: true, range: range, isHeadOnly: false)) {
            (out) throws(ProtocolError) in
            try Get.Request.compose(id: "garbage-1", part: nil, range: range, into: &out)
        }
        let digest = [UInt8](repeating: 0x5A, count: Wire.digestByteCount)
        try add(.get, .digestGiven) { (out) throws(ProtocolError) in
            try Get.Request.compose(digest: digest.span.bytes, range: nil, into: &out)
        }
        let (item, owner) = ("/v1/notifications/garbage-1", "/v1/users/o/")
        let calls: [(Call.Method, String)] = [
            (.get, item), (.delete, item), (.get, owner + "changes?since=0&limit=7"),
            (.get, "/v1/stats"), (.get, "/v1/notifications?limit=3&after=a"),
        ]
        for (method, target) in calls {
            try add(.call) { (out) throws(ProtocolError) in
                try Call.Request.compose(method, target: target, into: &out)
            }
        }
        let patch = Array(#"{"read":true,"data":{"a":[1,2.5,null]}}"#.utf8)
        try add(.call, body: patch) { (out) throws(ProtocolError) in
            try Call.Request.compose(
                .patch, target: item, device: "tv", mediaType: "application/json", into: &out)
        }
        return frames
    }

    private static func makeRequests() -> [[UInt8]] {
        let digest = String(repeating: "5a", count: 32)
        let item = "/v1/notifications/garbage-2"
        return [
            "GET /healthz HTTP/1.1\r\nHost: b\r\n\r\n",
            "GET /v1/stats HTTP/1.1\r\nHost: b\r\nAccept: application/json\r\n\r\n",
            "PUT \(item)/payload?ttl=60&owner=u%207 HTTP/1.1\r\nHost: b\r\n"
                + "Content-Type: image/png\r\nContent-Length: 12\r\n\r\nhello, world",
            "PUT \(item)/parts/sound?ttl=60 HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "5;a=b\r\nhello\r\n3\r\n, w\r\n0\r\nX-Trailer: 1\r\n\r\n",
            "POST /v1/notifications?ttl=60 HTTP/1.1\r\nHost: b\r\nExpect: 100-continue\r\n"
                + "Content-Length: 3\r\n\r\nabc",
            "GET \(item) HTTP/1.1\r\nHost: b\r\n\r\n",
            "HEAD \(item)/payload HTTP/1.1\r\nHost: b\r\n\r\n",
            "GET \(item)/payload HTTP/1.1\r\nHost: b\r\nRange: bytes=2-5\r\n"
                + "If-Range: \"sha256:\(digest)\"\r\nAccept-Encoding: gzip;q=0.5, *;q=0\r\n\r\n",
            "GET /api/notifications/garbage-2 HTTP/1.1\r\nHost: b\r\n"
                + "If-None-Match: W/\"a\", \"b\", *\r\n\r\n",
            "GET /v1/blobs/sha256:\(digest) HTTP/1.1\r\nHost: b\r\n\r\n",
            "DELETE \(item) HTTP/1.1\r\nHost: b\r\n\r\n",
            "\r\nPATCH \(item) HTTP/1.1\r\nHost: b\r\nContent-Length: 2\r\n\r\n{}",
        ].map { Array($0.utf8) }
    }
}
