import BlobStore
import Replication

extension Host {
    /// Starts the daemon: its store leads, follows, or is made of a base.
    func start() throws {
        disk.thaw()
        disk.setFull(isFull)
        life = .up
        frames += 1
        failureCount = 0
        for task in tasks { task.due = world.clock }
        world.enter(self)
        world.trace("\(name) starts")
        defer {
            frames -= 1
            settle()
        }
        do {
            let start = ReplicaStart(disk.folder, options, self) { [self] in
                let store = try BlobStore.open(at: disk.folder, options: options)
                try noteOpened(store)
                return store
            }
            let store = try start.run(on: bucket)
            if disk.isFrozen { return }
            self.store = store
            try noteState()
            try store.allowZeroCopy(
                at: BootTime(bootID: bootID, milliseconds: world.clock), graceMilliseconds: 1_000)
            if settings.isLogging, store.replicationState?.role != .follower {
                try store.beginLogging()
            }
            try noteState()
            activity = leads ? .leads : .follows
            startedAt = world.clock
            replica = Replica(store, self)
            alive = AliveWriter(store, self)
            errors = [:]
        } catch let finding as Finding {
            throw finding
        } catch {
            errors["start"] = "\(error)"
            world.trace("\(name) start: \(error)")
            store = nil
            disk.freeze()
            life = .dying
            world.sometimes("a start failed")
        }
    }
}
