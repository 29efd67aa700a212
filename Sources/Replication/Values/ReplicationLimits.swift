/// Every limit of the replication, in one place. `docs/REPLICATION.md` has them for people.
package enum ReplicationLimits {
    /// Bytes that a segment's batches have, with those of the blobs that they stored: more go into the next. One
    /// batch is shipped however long it is. One segment is on its way at a time: with answers that are 5 s late
    /// this is 3 MiB a second.
    package static let segmentByteCount = 16 << 20
    /// Names of the log that are read together: two for each connection.
    package static let readAheadCountMax = 64
    /// Bytes of those after the first, together: a longer one is read when it is the next.
    package static let readAheadByteCount = 16 << 20
    package static let appliedByteCount = 4 << 20
    /// How long a follower reads segments before it applies those that it has, in milliseconds.
    package static let readAheadMilliseconds: Int64 = 500
    /// How long one that takes the lead by force applies what is there before it puts its fence first, in milliseconds.
    package static let applyBeforeFenceMilliseconds: Int64 = 2_000
    package static let segmentByteCountMax = 256 << 20
    /// Bytes of long blobs that are held in memory: by a leader that uploads them together, and by a follower that
    /// stores them with their batches. One blob is, however long it is.
    package static let heldBlobByteCount = 16 << 20
    /// How long clients wait at a start until it is known whether this host still leads, in milliseconds.
    package static let startMilliseconds = 2_000
    /// How long a leader takes a long blob's object to be in the bucket after it has uploaded or read it, in
    /// milliseconds, and of how many it remembers that.
    package static let seenBlobMilliseconds = 600_000
    package static let seenBlobCountMax = 131_072
    /// How long segments stay that every base is past, in milliseconds, and those that could not be deleted before that is
    /// tried again: a follower that is no further behind is not rebuilt.
    package static let collectGraceMilliseconds: Int64 = 600_000
    /// How often in a row a segment is missing before it counts as lost.
    package static let lostSegmentLookCount = 3
    /// How often in a row one cannot be read, for whatever reason, before it counts as lost while others can.
    package static let unreadableSegmentLookCount = 7
    /// How long a follower is not given it before, in milliseconds.
    package static let unreadableSegmentMilliseconds: Int64 = 120_000
    /// How often in a row a payload's object is missing or damaged before it counts as lost; the pauses between are those
    /// after so many failed requests, and one more each time: a few seconds together.
    package static let lostPayloadLookCount = 3
    package static let lostPayloadPause = 4
    /// How many names in a row cannot be deleted before no more are tried.
    package static let undeletedCountMax = 3
    /// How long a job of a leader in its bucket is not tried again after it has failed three times, in milliseconds: twice
    /// as long with each failure more, up to the most.
    package static let jobPauseMilliseconds: Int64 = 10_000
    package static let jobPauseMillisecondsMax: Int64 = 300_000
    /// How long a follower finds it damaged before, in milliseconds.
    package static let lostSegmentMilliseconds: Int64 = 12_000
    /// Names of the log that a leader reads, or deletes, before it looks at anything else.
    package static let namesPerStep = 64
    /// The least that the log after a base has before another one is made because of that, in bytes.
    package static let logPerBaseByteCountMin = 64 << 20
    /// How often a leader looks for what may be deleted, in milliseconds, also where it makes no base.
    package static let collectMilliseconds: Int64 = 86_400_000
    package static let unfinishedBaseMilliseconds: Int64 = 86_400_000
    /// Batches that refer to a payload which is lost, of which clients are told so: the last ones.
    package static let lostSequenceCountMax = 4_096
    /// How often a leader says that it is alive, and one that has nothing to ship looks whether somebody else leads, in
    /// milliseconds: less than 720 of each an hour.
    package static let beatMilliseconds = 5_200
    /// How long it is said while replication does not get on, in milliseconds, and how many bytes more than before a step
    /// that does not end has to send or receive to get on.
    package static let stalledMilliseconds: Int64 = 30_000
    package static let progressByteCount = 64 << 10
    /// How long a sign of life may take, in milliseconds: less than a third of the time after which a follower takes the
    /// lead, or this.
    package static let beatTimeoutMilliseconds = 3_000
    package static let beatTimeoutMillisecondsMax = 12_000
    /// How often a follower looks whether its leader is alive, in milliseconds; one that takes the lead by itself looks
    /// more often. It must be less than ``aliveGapMilliseconds``.
    package static let aliveLookMilliseconds = 5_000
    /// What lies between two looks that are further apart is no silence, in milliseconds, unless it is less than twice
    /// what lay between the two before.
    package static let aliveGapMilliseconds: Int64 = 10_000
    /// How long a follower waits before it looks for the next name again, in milliseconds: with the looks for signs of
    /// life at most 14,400 GET an hour.
    package static let pollMilliseconds = 265
    /// How long a follower finds no name before it looks whether that was collected, in milliseconds.
    package static let lostNameLookMilliseconds: Int64 = 12_000
    package static let handoverLookMilliseconds = 1_000
    /// How often a leader looks for the first base while clients wait for it, in milliseconds.
    package static let baseLookMilliseconds: Int64 = 1_000
    /// How often it looks whether they are there still.
    package static let lostBaseLookMilliseconds: Int64 = 600_000
    package static let handoverMilliseconds = 10_000
    /// How long nobody is seen to lead before a host leads again that led before, or may begin a shard, in milliseconds.
    package static let leaderlessMilliseconds: Int64 = 20_000
    package static let firstBaseMilliseconds = 60_000
    /// How long a host that has no room for its store waits before it looks again, in milliseconds: twice as long each
    /// time, up to the most.
    package static let roomLookMilliseconds = 5_000
    package static let roomLookMillisecondsMax = 300_000
    /// The most where the disk has the room and refused it: then the base is read again each time.
    package static let refusedRoomLookMillisecondsMax = 3_600_000
    /// Bytes that a store needs besides its contents.
    package static let seedRoomByteCount = 1 << 20
    package static let documentByteCountMax = 16 << 20
    package static let handoverByteCountMax = 64 << 10
    package static let partByteCount = 8 << 20
    package static let partByteCountMax = 16 << 20
}
