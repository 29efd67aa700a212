import TestSupport
import Testing

/// What several connections ask for at once is served in batches, and a change at a batch's start is
/// done while its bytes are there. Whatever comes together, each connection gets its own answers.
@Suite(.waiting) struct MixedBatchTests {
    /// A connection, what it has yet to send, and what it is to be answered.
    private struct Peer {
        let speaker: Speaker
        let id: String
        var stored: [UInt8]?
        var unsent: [UInt8] = []
        var expected: [(status: Int, body: [UInt8]?)] = []
    }

    /// One worker has them all, or two have half each. Each request sees what those before it on its connection did.
    @Test(
        "Fetches, publishes, deletes and refusals of many connections, whole and in pieces",
        arguments: ["1", "2"])
    func batches(workers: String) throws {
        let seed = testSeed(13)
        var random = SeededGenerator(seed: seed)
        let daemon = try DaemonProcess(["--workers", workers])
        let common = random.bytes(20_000)
        try daemon.put("common", common)
        var peers = try (0..<12).map { number in
            Peer(speaker: try Speaker(daemon, isBinary: number % 2 == 0), id: "own-\(number)")
        }
        for round in 0..<40 {
            for index in peers.indices {
                for _ in 0..<Int.random(in: 0...5, using: &random) {
                    try Self.ask(&peers[index], common, &random)
                }
            }
            // Pieces, so that most requests end in the middle of a message, often of their body.
            while peers.contains(where: { !$0.unsent.isEmpty }) {
                for index in peers.indices.shuffled(using: &random) {
                    let rest = peers[index].unsent
                    let count = Int.random(in: 0...max(1, rest.count), using: &random)
                    peers[index].speaker.client.send(Array(rest.prefix(count)))
                    peers[index].unsent = Array(rest.dropFirst(count))
                }
            }
            for index in peers.indices {
                for (status, body) in peers[index].expected {
                    let got = try peers[index].speaker.answer()
                    #expect(got.status == status, "seed \(seed), round \(round), peer \(index)")
                    if let body {
                        #expect(got.body == body, "seed \(seed), round \(round), peer \(index)")
                    }
                }
                peers[index].expected = []
            }
        }
    }

    /// Adds a request to what a peer sends, with the answer that it must get.
    private static func ask(
        _ peer: inout Peer, _ common: [UInt8], _ random: inout SeededGenerator
    ) throws {
        switch Int.random(in: 0..<6, using: &random) {
        case 0:
            peer.unsent += try peer.speaker.getRequest("common")
            peer.expected.append((200, common))
        case 1:
            peer.unsent += try peer.speaker.getRequest(peer.id)
            peer.expected.append(peer.stored.map { (200, $0) } ?? (404, nil))
        case 2:
            peer.unsent += try peer.speaker.deleteRequest(peer.id)
            peer.expected.append((peer.stored == nil ? 404 : 204, nil))
            peer.stored = nil
        case 3:
            // A life longer than any may have. The body is read all the same.
            peer.unsent += try peer.speaker.putRequest(
                peer.id, random.bytes(50), ttlSeconds: 1 << 40)
            peer.expected.append((400, nil))
        default:
            let body = random.bytes(Int.random(in: 0...40_000, using: &random))
            peer.unsent += try peer.speaker.putRequest(peer.id, body)
            peer.expected.append((peer.stored == nil ? 201 : 200, nil))
            peer.stored = body
        }
    }
}
