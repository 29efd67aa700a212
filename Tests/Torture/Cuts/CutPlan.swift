import FoundationEssentials
import Glibc
import TestSupport

/// A place of the trace where the power fails, and the seed of what is left then.
struct PowerCut: Codable, Sendable {
    let place: Int
    let seed: UInt64
}

/// A file that was there before a trace began.
struct BaseFile: Codable, Sendable {
    /// Its name in the folder, and its number there.
    let name: String
    let inode: UInt64
    /// Where its bytes of then are.
    let copy: String

    /// Files of a folder, of which another folder has copies.
    static func all(_ names: [String], in folder: String, copies: String) throws -> [BaseFile] {
        try names.map { name in
            var status = stat()
            try require(stat("\(folder)/\(name)", &status) == 0, "\(name): \(words(errno))")
            return BaseFile(
                name: name, inode: UInt64(status.st_ino), copy: "\(copies)/\(name)")
        }
    }
}

/// What the process that makes and checks images has to know, as a file.
struct CutPlan: Codable, Sendable {
    let trace: String
    /// What was there before.
    var base: [BaseFile] = []
    /// Where it may make folders.
    let folder: String
    let ignored: IgnoredSyncs
    let changes: [String: [SentChange]]
    /// In the order of their places.
    let cuts: [PowerCut]
    /// Whether an image may have no store at all.
    var mayBeAbsent = false

    func write(to path: String) throws {
        try Files.write(Array(try JSONEncoder().encode(self)), to: path)
    }

    static func read(_ path: String) throws -> CutPlan {
        try JSONDecoder().decode(CutPlan.self, from: Data(contentsOf: URL(filePath: path)))
    }

    /// A third of the cuts beside the syncs of one stretch, one after the other; a third during
    /// starts; the others anywhere. The more there are, the more of each.
    static func cuts(
        _ count: Int, _ history: DiskHistory, starts: [Range<Int>],
        using generator: inout SeededGenerator
    ) -> [PowerCut] {
        let (edges, syncEdges) = (history.edges.map(\.place), history.syncEdges)
        let startEdges = edges.filter { edge in starts.contains { $0.contains(edge) } }
        let first = Int.random(in: 0...max(0, syncEdges.count - count / 3), using: &generator)
        var places = Array(syncEdges[first...].prefix(count / 3))
        for _ in 0..<count / 3 {
            if let place = startEdges.randomElement(using: &generator) { places.append(place) }
        }
        while places.count < count, let place = edges.randomElement(using: &generator) {
            places.append(place)
        }
        return places.sorted().map { PowerCut(place: $0, seed: generator.next()) }
    }
}
