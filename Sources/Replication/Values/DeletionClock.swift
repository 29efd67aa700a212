internal import BlobStore

/// Decides whether the wall clock can be trusted enough to delete by it.
///
/// Expiry and retention are wall-clock time. If that clock is set wrongly for a moment, deleting what has
/// "expired" would destroy payloads that are alive, or all that a restore could begin with. Nobody sets the boot
/// clock. So if the clocks advance differently between two ticks, the wall clock was set. Reads are not affected:
/// they delete nothing.
package struct DeletionClock: Sendable {
    /// How much the clocks may differ between two ticks, in milliseconds.
    package static let jumpMillisecondsMax: Int64 = 60_000
    /// How long nothing is deleted after a jump, in milliseconds of the boot clock.
    package static let pauseMilliseconds: Int64 = 600_000

    private var last: (wall: Int64, boot: Int64)?
    private var pausedUntil: Int64?

    package private(set) var jumpCount = 0

    package enum Verdict: Equatable, Sendable {
        case steady
        case jumped(milliseconds: Int64)
        case paused
    }

    package init() {}

    /// Compares both clocks, in milliseconds, with the last tick. The first tick has nothing to
    /// compare with and is steady.
    package mutating func tick(wall: Int64, boot: Int64) -> Verdict {
        defer { last = (wall, boot) }
        if let last {
            let jump = (wall - last.wall) - (boot - last.boot)
            if abs(jump) > Self.jumpMillisecondsMax {
                jumpCount += 1
                pausedUntil = boot + Self.pauseMilliseconds
                return .jumped(milliseconds: jump)
            }
        }
        if let until = pausedUntil {
            if boot < until { return .paused }
            pausedUntil = nil
        }
        return .steady
    }
}

extension Timestamp {
    /// The moment so many milliseconds later; the last or first one that can be written where that is out of
    /// range.
    func adding(milliseconds span: Int64) -> Timestamp {
        let (sum, isOver) = milliseconds.addingReportingOverflow(span)
        return Timestamp(milliseconds: isOver ? (span < 0 ? .min : .max) : sum)
    }
}
