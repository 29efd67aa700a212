/// The fence of another host that a leader met under its next name, until it is known what comes of it: that host leads,
/// or it has died or cannot, and then this one leads again.
struct ForeignFence {
    /// 0: the log was not read since.
    private(set) var epoch: UInt64 = 0
    /// How often the host of the last fence has said that it is about to lead.
    private var beats: UInt64?
    private var since: Int64

    init(at now: Int64) { since = now }

    /// Notes what the log and its host say. Returns whether that is a fence that was not known.
    mutating func note(_ epoch: UInt64, beats: UInt64?, at now: Int64) -> Bool {
        let isNew = epoch != self.epoch
        if let beats, isNew || beats != self.beats {
            since = now
        } else if isNew {
            // For its first sign of life, and no longer: many fences without one keep nobody.
            since = max(
                since,
                now - ReplicationLimits.leaderlessMilliseconds
                    + 2 * Int64(ReplicationLimits.beatMilliseconds))
        }
        (self.epoch, self.beats) = (epoch, beats)
        return isNew
    }

    /// How long its host has said nothing, in milliseconds.
    func silence(at now: Int64) -> Int64 { now - since }

    var problem: String {
        epoch == 0
            ? "another daemon has taken the next name of the log"
            : "another daemon has begun epoch \(epoch): changes are refused until it leads, or does not. If it is gone for good, --force here ends the wait"
    }
}
