import BlobStore
import Hashing
import Glibc
import TestSupport

import struct BlobStore.Digest

/// The process that makes the images of a plan and opens them. It is another one than the scenario's because an image
/// may end it: a line says which image it has begun, another what came of it.
struct CutCheck {
    private let plan: String
    private let first: Int
    private let count: Int
    private let faultCountMax: Int
    private let keepsImage: Bool

    /// Takes the plan's path, the first of its cuts, how many, after how many wrong images it ends, and `keep` to
    /// leave the last one behind.
    init(_ arguments: ArraySlice<String>) throws {
        let words = Array(arguments)
        let numbers = words.dropFirst().prefix(3).compactMap { Int($0) }
        try require(numbers.count == 3, "cuts-check PLAN FROM COUNT FAULTS [keep]")
        (plan, first, count, faultCountMax) = (words[0], numbers[0], numbers[1], numbers[2])
        keepsImage = words.count > 4
    }

    func run() throws {
        let plan = try CutPlan.read(plan)
        let trace = try Trace(plan.trace)
        let history = try DiskHistory(trace, on: plan.base, ignoring: plan.ignored)
        let base = "\(plan.folder)/base"
        mkdir(base, 0o700)
        var disk = try CutDisk(history, trace, on: plan.base, base: base)
        var faultCount = 0
        let last = min(plan.cuts.count, first + count)
        for index in first..<last where faultCount < faultCountMax {
            let cut = plan.cuts[index]
            var generator = SeededGenerator(seed: cut.seed)
            let folder = "\(plan.folder)/image"
            Files.remove(folder)
            say("begin \(index)")
            let left = try disk.cut(at: cut.place, into: folder, using: &generator)
            say("left \(left.words)")
            do {
                if plan.mayBeAbsent, !CutImage.isThere(in: folder) {
                    say("whole 0")
                } else {
                    say("whole \(try CutImage(folder, cut.place, plan.changes).check())")
                }
            } catch {
                faultCount += 1
                say("fault \(error)")
            }
            if !keepsImage { Files.remove(folder) }
        }
        say("end")
    }
}

/// What a power cut has left, and what has to be in it.
struct CutImage {
    /// What is published into each image, to see that it can be written.
    private static let newID = "after-the-cut"

    private let folder: String
    private let expectations: [String: Expectation]
    private let now: Timestamp

    init(_ folder: String, _ place: Int, _ changes: [String: [SentChange]]) {
        self.folder = folder
        expectations = changes.mapValues { Expectation($0, at: place) }
        now = Timestamp(milliseconds: Int64(time(nil)) * 1_000)
    }

    /// Whether a folder has a store.
    static func isThere(in folder: String) -> Bool { Files.exists("\(folder)/data.mdb") }

    /// Opens the image, compares everything, publishes one thing more, and opens it once more.
    /// Returns how many notifications were compared that had been acknowledged.
    func check() throws -> Int {
        let (found, count) = try firstLook()
        try secondLook(found, count)
        return expectations.values.count { $0.isAcknowledged }
    }

    /// Returns the digest of each notification that can be read, and how many there are.
    private func firstLook() throws -> (found: [String: Digest], count: Int) {
        let store = try opened("after the cut")
        let notificationCount = try verified(store, "after the cut")
        var found: [String: Digest] = [:]
        for (id, expectation) in expectations {
            let digest = try store.record(for: id, asOf: now)?.part(named: "payload")?.digest
            try require(
                expectation.allows(digest?.description),
                "\(id) is \(digest.map { "\($0)" } ?? "absent"); it must be \(expectation.words)")
            guard let digest else { continue }
            let bytes = try store.ownedPayload(for: id, asOf: now) ?? []
            let computed = SHA256.digest(of: bytes.span.bytes)
            try require(
                Digest(bytes: computed.span.bytes) == digest,
                "\(id) has other bytes than its digest says")
            found[id] = digest
        }
        let expiredCount = expectations.count { found[$0.key] == nil && $0.value.mayHaveExpired }
        try require(
            found.count...found.count + expiredCount ~= notificationCount,
            "there are \(notificationCount) notifications; \(found.count) can be read, and "
                + "\(expiredCount) may have expired")
        var writer = store.makePayloadWriter()
        let bytes = [UInt8](repeating: 0x42, count: 70_000)
        try writer.append(bytes.span.bytes)
        let payload = try writer.finish(mediaType: "image/png")
        let expiry = now.adding(seconds: 3_600)
        let outcome = try store.apply(
            [.publish(Publication(id: Self.newID, payload: payload, expiry: .at(expiry)))],
            asOf: now)
        if case .refused(let error)? = outcome.first {
            throw TestFailure("a publish behind the cut was refused: \(error)")
        }
        found[Self.newID] = payload.digest
        return (found, notificationCount + 1)
    }

    private func secondLook(_ found: [String: Digest], _ count: Int) throws {
        let store = try opened("a second time")
        let notificationCount = try verified(store, "when opened a second time")
        for (id, digest) in found {
            let again = try store.record(for: id, asOf: now)?.part(named: "payload")?.digest
            try require(
                again == digest, "\(id) was there and is another when opened a second time")
        }
        try require(
            notificationCount == count,
            "\(count) notifications became \(notificationCount) when opened a second time")
    }

    private func opened(_ when: String) throws -> BlobStore {
        do {
            return try BlobStore.open(at: folder)
        } catch {
            throw TestFailure("the store was not opened \(when): \(error)")
        }
    }

    /// Returns how many notifications there are.
    private func verified(_ store: BlobStore, _ when: String) throws -> Int {
        let report = try store.verify()
        try require(
            report.isClean,
            "\(report.problemCount) things are wrong \(when): \(report.problems.first ?? "")")
        return report.notifications
    }
}
