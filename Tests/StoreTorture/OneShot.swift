import BlobStore
import Glibc

enum OneShot {
    static func open(_ directory: String, user: UInt32?) {
        become(user)
        StoreTorture.orEnd { () throws(StoreError) in
            _ = try StoreTorture.openStore(directory)
            StoreTorture.say("opened")
        }
    }

    static func hold(_ directory: String) {
        StoreTorture.orEnd { () throws(StoreError) in
            let store = try StoreTorture.openStore(directory)
            StoreTorture.say("opened")
            var byte: UInt8 = 0
            while Glibc.read(0, &byte, 1) > 0 {}
            withExtendedLifetime(store) {}
        }
    }

    private static func become(_ user: UInt32?) {
        if let user, setgroups(0, nil) != 0 || setgid(user) != 0 || setuid(user) != 0 {
            StoreTorture.say("skipped: cannot become user \(user)")
            exit(3)
        }
    }

    /// Opens for reading, without root's rights when a user is given.
    static func read(_ directory: String, id: String, user: UInt32?) {
        become(user)
        StoreTorture.orEnd { () throws(StoreError) in
            let store = try StoreTorture.openReadOnly(directory)
            let bytes = try store.ownedPayload(for: id, asOf: noon)
            StoreTorture.say(bytes.map { "found \($0.count)" } ?? "missing")
        }
    }

    /// One change after the other, each with its outcome, errors included: the disk may fail
    /// meanwhile.
    static func publish(_ directory: String, count: Int, byteCount: Int) {
        StoreTorture.orEnd { () throws(StoreError) in
            let store = try StoreTorture.openStore(directory)
            StoreTorture.say("opened")
            for index in 0..<count {
                let bytes = StoreTorture.noise(seed: UInt64(index), count: byteCount)
                try say("publish \(index)", store, [store.change("\(index)", to: bytes)])
            }
            try say("delete 0", store, [.delete(id: "0")])
            StoreTorture.tell("free") { () throws(StoreError) in
                _ = try store.freeOrphans(byteCountMax: 1 << 20)
            }
            StoreTorture.tell("writable") { () throws(StoreError) in try store.checkWritable() }
        }
    }

    private static func say(
        _ what: String, _ store: BlobStore, _ changes: [Change]
    ) throws(StoreError) {
        let outcomes: [Outcome]
        do throws(StoreError) {
            outcomes = try store.apply(changes, asOf: noon)
        } catch {
            StoreTorture.say("failed \(what): \(error)")
            return
        }
        switch outcomes[0] {
        case .published, .deleted, .changed, .unchanged, .held, .categorySet:
            StoreTorture.say("ok \(what)")
        case .notFound: StoreTorture.say("missing \(what)")
        case .refused(let error): StoreTorture.say("refused \(what): \(error)")
        }
    }
}
