import BlobStore
import Glibc

/// Changes that are acknowledged once they are in the log, and a reader alongside them.
enum Logged {
    /// The changes of a batch: two notifications of its own, and one that every batch replaces or
    /// removes. Of every seventh the log has the places of the payloads, and every eleventh is too long
    /// for the log.
    private static func batch(_ number: Int, _ store: BlobStore) throws(StoreError) -> [Change] {
        var (partCount, byteCount) = (2, number * 37 % 9_000)
        if number % 7 == 6 { (partCount, byteCount) = (8, 40_000) }
        if number % 11 == 10 { byteCount = 300_000 }
        var changes: [Change] = []
        for part in 0..<partCount {
            changes.append(
                try store.change(
                    "\(number)-\(part)",
                    to: StoreTorture.noise(
                        seed: UInt64(number * 8 + part), count: byteCount + part)))
        }
        if number % 3 == 2 {
            changes.append(.delete(id: "shared"))
        } else {
            changes.append(
                try store.change("shared", to: Array("\(number)".utf8)))
        }
        return changes
    }

    private static func open(_ directory: String) -> BlobStore {
        StoreTorture.orEnd { () throws(StoreError) in
            let store = try StoreTorture.openStore(directory)
            try store.beginLogging()
            StoreTorture.say("opened")
            return store
        }
    }

    private static func apply(_ number: Int, _ store: BlobStore) throws(StoreError) {
        for outcome in try store.apply(try batch(number, store), asOf: noon) {
            if case .refused(let error) = outcome { throw error }
        }
    }

    static func run(_ directory: String, count: Int) {
        let store = open(directory)
        for number in 0..<count {
            StoreTorture.tell("batch \(number)") { () throws(StoreError) in try apply(number, store)
            }
            // What comes next is recorded while that is being committed.
            if number % 5 == 2 {
                do throws(StoreError) { try store.beginCheckpoint() } catch {
                    StoreTorture.say("failed freeze: \(error)")
                }
            }
            if number % 10 == 4 {
                StoreTorture.tell("commit") { () throws(StoreError) in try store.checkpoint() }
            }
            if number % 10 == 9 {
                StoreTorture.tell("commit") { () throws(StoreError) in try store.commitPending() }
            }
        }
        StoreTorture.tell("end") { () throws(StoreError) in try store.endLogging() }
    }

    static func abandon(_ directory: String, count: Int) {
        let store = open(directory)
        for number in 0..<count {
            StoreTorture.tell("batch \(number)") { () throws(StoreError) in try apply(number, store)
            }
        }
        StoreTorture.say("waiting")
        while readLine() != nil {}
        // As a process that is killed: nothing is committed.
        _exit(0)
    }

    static func embed(_ directory: String, count: Int) {
        StoreTorture.orEnd { () throws(StoreError) in
            let store = try StoreTorture.openStore(directory, isLogging: true)
            StoreTorture.say("opened")
            for number in 0..<count {
                StoreTorture.tell("\(number)") { () throws(StoreError) in
                    let change = try store.change("\(number)", to: Array("\(number)".utf8))
                    for outcome in try store.apply([change], asOf: noon) {
                        if case .refused(let error) = outcome { throw error }
                    }
                }
            }
            StoreTorture.say("waiting")
            while readLine() != nil {}
            try store.close()
            StoreTorture.say("closed")
        }
    }

    static func readBeside(_ directory: String) {
        StoreTorture.orEnd { () throws(StoreError) in
            let store = try StoreTorture.openReadOnly(directory)
            StoreTorture.say("opened")
            while let line = readLine() {
                let words = line.split(separator: " ").map { String($0) }
                guard words.count == 2, words[0] == "get" else { exit(2) }
                StoreTorture.say(answer(words, store))
            }
        }
    }

    private static func answer(_ words: [String], _ store: BlobStore) -> String {
        do throws(StoreError) {
            let bytes = try store.ownedPayload(for: words[1], asOf: noon)
            return bytes.map { "found " + String(decoding: $0, as: UTF8.self) } ?? "missing"
        } catch {
            return "error \(error)"
        }
    }
}
