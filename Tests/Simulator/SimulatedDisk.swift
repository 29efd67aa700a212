import SimulatedSystem
import TestSupport

/// The disk of one host: what of its folder would survive a kill or a power cut. See `Tests/SimulatedSystem`.
struct SimulatedDisk {
    let number: Int32
    let folder: String

    /// Makes a folder, empty or of another one, and simulates it from now on.
    init(number: Int, folder: String, copying source: String? = nil) throws {
        self.number = Int32(number)
        self.folder = folder
        guard sim_folder_replace(folder, source) == 0 else {
            throw TestFailure("cannot make \(folder)")
        }
        sim_disk_add(self.number, folder)
    }

    /// Whether the process that used it is dead: nothing is written any more.
    var isFrozen: Bool { sim_disk_is_frozen(number) }

    /// The process dies now.
    func freeze() { sim_disk_freeze(number) }

    /// The process dies in the so many-th call from now that writes.
    func freeze(atCall count: Int) { sim_disk_freeze_after(number, UInt64(count)) }

    /// For the next process.
    func thaw() { sim_disk_thaw(number) }

    func failSync(_ count: Int) { sim_disk_fail_sync_after(number, UInt64(count)) }

    func setFull(_ isFull: Bool) { sim_disk_set_full(number, isFull) }

    /// Loses some of what no sync has covered. Nobody may have the store open.
    func cutPower(_ chance: inout SeededGenerator) { sim_disk_cut_power(number, chance.next()) }

    /// Copies the folder to another one, as a snapshot of the machine does.
    func copy(to other: String) throws {
        guard sim_folder_replace(other, folder) == 0 else {
            throw TestFailure("cannot copy \(folder)")
        }
    }

    /// Replaces the folder by another one. Nobody may have the store open.
    func replace(by other: String?) throws {
        sim_disk_remove(number)
        guard sim_folder_replace(folder, other) == 0 else {
            throw TestFailure("cannot replace \(folder)")
        }
        sim_disk_add(number, folder)
    }

    func close() { sim_disk_remove(number) }
}
