internal import Glibc
internal import LMDB
internal import Synchronization

/// What publishes were refused for want of room: what has to fit before the store counts as one that
/// takes publishes again.
struct Refused: Equatable {
    /// The most that one would have added to `data.mdb`, in bytes; 0: none was refused.
    var growth = 0
    /// The most bytes that had come of one whose bytes could not be taken in; 0: none.
    var incomingByteCount = 0

    var isAny: Bool { growth > 0 || incomingByteCount > 0 }
}

extension SpaceReserve {
    /// What was refused and has not been found to fit since.
    var refused: Refused { state.withLock { $0.refused } }

    /// Notes a publish that was refused, unless it would not fit an empty store either. `payloadByteCount`:
    /// what it brings: where that is not kept in memory, it is on the same disk until the publish is done.
    func noteRefused(growth: Int, payloadByteCount: Int) {
        let diskByteCount = Disk(environment.dataDescriptor)?.byteCount ?? .max
        let most = min(byteCountMax, diskByteCount, FileSizeLimit.byteCount)
        guard growth <= most - reserveByteCount else { return }
        state.withLock { $0.refused.growth = max($0.refused.growth, growth) }
        if payloadByteCount > StoreLimits.payloadInMemoryByteCountMax {
            noteRefused(incomingByteCount: payloadByteCount)
        }
    }

    /// Notes a payload whose bytes could not be taken in.
    func noteRefused(incomingByteCount: Int) {
        guard incomingByteCount <= FileSizeLimit.byteCount else { return }
        state.withLock {
            $0.refused.incomingByteCount = max($0.refused.incomingByteCount, incomingByteCount)
        }
    }

    /// What was refused has been found to fit; what was noted meanwhile stays.
    func forget(_ refused: Refused) {
        state.withLock { if $0.refused == refused { $0.refused = Refused() } }
    }

    /// Whether a payload of so many bytes could be taken in: the file for it is not the store's.
    func hasRoom(incoming byteCount: Int) -> Bool {
        guard byteCount > 0, let disk = Disk(environment.dataDescriptor) else { return true }
        return disk.availableByteCount >= byteCount
    }
}
