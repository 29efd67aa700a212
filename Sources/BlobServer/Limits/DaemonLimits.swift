package import BlobProtocol
package import BlobStore

/// Every limit of the daemon that its operator can choose. What the protocol fixes is in
/// `WireLimits`, what the store fixes in `StoreLimits`.
package struct DaemonLimits: Sendable {
    package init() {}

    /// The longest payload, in bytes.
    package var payloadByteCountMax = 64 << 20
    /// The longest gzip coding of a payload, in bytes.
    package var codedByteCountMax: Int { StoreLimits.codedByteCountMax(for: payloadByteCountMax) }
    /// How long a notification lives when its publisher does not say, in seconds; nil: 30 days, or
    /// ``ttlSecondsMax`` if that is less.
    package var explicitDefaultTTLSeconds: Int64?
    /// The same.
    package var defaultTTLSeconds: Int64 {
        explicitDefaultTTLSeconds ?? min(30 * 86_400, ttlSecondsMax)
    }
    /// The longest life a publisher may ask for, in seconds.
    package var ttlSecondsMax: Int64 = 30 * 86_400
    /// Open connections.
    package var connectionCountMax = 8_192
    /// Memory for bodies on their way into the store, in bytes.
    package var bodyMemoryByteCountMax = 64 << 20
    /// Memory for answers that their clients have not read, in bytes, of all workers together; see
    /// ``AnswerMemory``.
    package var answerMemoryByteCountMax = 64 << 20
    /// How long a request's head may take from its first byte on.
    package var headMilliseconds = 10_000
    /// How long a connection may stay without a request.
    package var idleMilliseconds = 75_000
    /// The least rate at which bodies and answers move, in bytes per second, over
    /// ``rateWindowMilliseconds``.
    package var rateMin = 4_096
    /// How long a slow body or answer is watched before it is given up.
    package var rateWindowMilliseconds = 10_000
    /// How long a stop waits for the answers under way.
    package var drainMilliseconds = 10_000
    /// How often the writer looks for what has expired.
    package var sweepMilliseconds = 1_000
    /// Watchers at once: waits, event streams and watches.
    package var watcherCountMax = StoreLimits.watcherCountMaxDefault
    /// Watchers of one owner at once.
    package var watcherCountPerOwnerMax = StoreLimits.watcherCountPerOwnerMaxDefault
    /// Watchers of one peer's user at once; nil: three quarters of ``watcherCountMax``.
    package var watcherCountPerPeerMax: Int?
    /// How much the store and each owner may have.
    package var quotas = Quotas()
    /// Free pages stay allocated up to so many bytes, or 1/24 of the pages in use.
    package var freeAllocatedByteCountMin = StoreLimits.freeAllocatedByteCountMin
    /// How long a deletion is remembered for devices that were away.
    package var tombstoneRetentionMilliseconds = StoreLimits.tombstoneRetentionMillisecondsDefault
    /// How long a stream of changes is quiet before it gives a heartbeat.
    package var heartbeatMilliseconds = 25_000

    /// What is put in front of the signed links in pushes; nil: pushes have none.
    package var linkBase: String?
    /// How long such a link is good at the most; nil: as long as its notification.
    package var linkTTLSeconds: Int64?

    /// Whose limits hold for the parts of all notifications; nil: nobody's.
    package var profile: DeviceProfile?
    /// Whether a notification is only patched under a condition (RFC 6585, section 3).
    package var requiresIfMatch = false

    /// How long what an earlier run may have sent zero-copy is not freed after its end; nil: as
    /// long as ``zeroCopyGraceMilliseconds`` makes of the other limits.
    package var explicitZeroCopyGraceMilliseconds: Int?
    /// The same. Where it is not given: as long as the slowest client that is allowed takes to read
    /// what its socket may hold, and a minute at least. After that its bytes may be another
    /// payload's.
    package var zeroCopyGraceMilliseconds: Int {
        if let given = explicitZeroCopyGraceMilliseconds { return given }
        let heldByteCount = 2 * Int(Self.widenedSendBufferByteCount)
        let reading = heldByteCount * 1_000 / max(rateMin, Self.zeroCopyRateMin)
        return max(Self.zeroCopyGraceMillisecondsMin, reading + rateWindowMilliseconds)
    }
    /// Payloads of at least so many bytes leave by `sendfile`, straight from the page cache; what
    /// is shorter is cheaper to copy: linking took 1.1 to 1.6 times as long for 16 KiB as copying,
    /// and 0.9 of it for 32 KiB. 0: none do.
    package var linkedByteCountMin = 32 << 10

    /// How long a worker that has just answered looks for the next request before it sleeps, in
    /// microseconds; 0: not at all. See ``IdleSpin``.
    package var spinMicroseconds = 50

    /// Requests that take longer are logged, in milliseconds; 0: none are.
    package var slowMilliseconds = 1_000
    /// In how many days everything in the store is read again; 0: it is not.
    package var scrubDays = 7

    /// Whether short changes are acknowledged when they are in the log, and committed a little
    /// later; else each batch is committed before it is acknowledged.
    package var isLogging = true

    // Fixed ones.

    /// The least grace for what an earlier run may have sent zero-copy.
    package static let zeroCopyGraceMillisecondsMin = Int(StoreLimits.zeroCopyGraceMilliseconds)
    /// How slow clients are supposed to be, in bytes per second, where they may be as slow as they
    /// like.
    package static let zeroCopyRateMin = 1_024

    /// How long what is in the log alone may get old while more of it comes, in microseconds. A
    /// commit takes about two milliseconds, for which who publishes then has to wait: so long that
    /// this is less than one publish in a hundred of a single publisher.
    package static let commitIntervalMicrosecondsMax = 100_000
    /// How long nothing may come before it is committed, in microseconds.
    package static let commitPauseMicroseconds = 2_000
    /// How long after the end of a commit those who read what is pending may cause the next one, in
    /// microseconds: who reads waits at most so long, and a commit. Without it a client that reads
    /// what others publish, in a loop, makes each batch a commit of its own.
    package static let earlyCommitMicrosecondsMin = 10_000

    /// What a socket may hold that its peer has not read, once payloads are linked into it, which
    /// take no memory, or so much is sent with one call that the usual 208 KiB would not take it.
    /// The kernel doubles it, for its own bookkeeping, and cuts it to twice `net.core.wmem_max`.
    package static let widenedSendBufferByteCount: Int32 = 512 << 10
    /// From how many copied bytes in one call on a socket is widened: what a client has asked for
    /// at once.
    package static let widenedFromByteCount = 128 << 10
    /// Leases a connection has for what its peer may not have read, before it asks the kernel how
    /// far the peer is.
    package static let inFlightLeaseCountMax = 16

    /// How much more than its share of ``answerMemoryByteCountMax`` a worker may hold, in bytes:
    /// more than one answer has.
    package static let answerMemoryExcessMax = 2 << 20
    /// Bytes of records in one page while memory for answers is short: what a socket takes at once.
    package static let shortPageByteCountMax = 32 << 10
    /// A connection that holds no more unread bytes than this is not ended for want of memory: heads
    /// of payloads.
    package static let answerByteCountFree = 4 << 10
    /// How long a client may read nothing while memory for answers is short.
    package static let stalledMilliseconds = 1_000
    /// Larger buffers of a worker are released after each use.
    package static let keptBufferByteCountMax = 512 << 10
    /// When so many bytes of answers have been held and are not any more, free memory goes back to
    /// the system, with this pause at the least.
    package static let trimmedByteCountMin = 1 << 20
    package static let trimPauseMilliseconds = 5_000
    /// When who was told 503 should try again (`Retry-After`).
    package static let retryAfterSeconds: UInt64 = 1
    /// Inflating a byte takes a worker as long as sending so many.
    package static let inflatedByteCost = 4

    /// Input that a worker reads at once, in bytes; more than the largest head of either dialect.
    package static let inputByteCountMax = 64 << 10
    /// Connections whose requests are answered before any of them is sent its answers: enough to
    /// spare their clients wake-ups, and few enough for them to have work meanwhile.
    package static let batchConnectionCountMax = 16
    /// Changes that a stream of events is sent before the other connections run.
    package static let eventCountMax = 64
    /// Answers that one connection gets before the others run, in bytes.
    package static let timeSliceByteCountMax = 1 << 20
    /// How long the requests of one connection are answered before the others run, in microseconds.
    /// At least one is. Fetches in a row do not count: many of them are cheaper than one statistic.
    package static let timeSliceMicroseconds = 1_000
    /// How long a worker serves the connections that are due before it looks for new events, in microseconds.
    /// The others wait in the run queue, behind what has just come.
    package static let passMicroseconds = 5_000
    /// A body that comes with a refused request is skipped up to this size, in bytes; else the
    /// connection is closed.
    package static let skippedBodyByteCountMax = 64 << 10
    /// How long a closed connection's input is still thrown away, so that the peer can read the
    /// last answer.
    package static let lingerMilliseconds = 2_000
    /// Input thrown away meanwhile, in bytes: more than most bodies have that are refused for their size. Many
    /// clients send all of a body before they read, and never see the answer where they cannot.
    package static let lingerByteCountMax = 1 << 30
    /// The most one of the kernel's buffers in a socket holds, by which the progress of a reader is
    /// known: 36,544 bytes where they were copied (Linux 6.18), one chunk where they were linked.
    package static let kernelBufferByteCount = 65_536
    /// Descriptors that are left unused, for spooled bodies and whatever libraries open.
    package static let descriptorReserve = 32
    /// How long nobody is accepted when descriptors or connections have run out.
    package static let acceptPauseMilliseconds = 100
    /// The same while connections come to an end, so that a crowd that leaves does not hold up who
    /// comes after it.
    package static let acceptPauseShortMilliseconds = 5
    /// Backups that are taken at once.
    package static let backupCountMax = 4
    /// How long a stop waits for the first requests of connections that have not sent anything.
    package static let firstRequestMilliseconds = 1_000
    /// Changes the writer takes into one batch.
    package static let changeBatchCountMax = 1_024
    /// Expired notifications one sweep removes.
    package static let sweepCountMax = 1_024
    /// Orphaned bytes that are freed in one transaction with changes.
    package static let freedWithChangesByteCountMax = 8 << 20
    /// About how long the writer gives free pages back to the file system before it looks for changes,
    /// in microseconds.
    package static let reclaimMicrosecondsMax = 5_000
    /// How long it does not after that: a twentieth of its time goes into it.
    package static let reclaimPauseMilliseconds = 100
    /// Free pages are not given back that publishes would use within so many seconds, as they come: the file
    /// system would allocate them anew at once.
    package static let reclaimedSecondsAhead = 10
    /// Orphaned bytes one step frees.
    package static let freedByteCountMax = 32 << 20
    /// How often readers that died without a word are looked for (`mdb_reader_check`).
    package static let readerCheckMilliseconds = 60_000
    /// How long the answer of a probe (`/readyz`, ping) is good for, in milliseconds: a probe tries
    /// what a publish needs at most so often. A publish that is refused for want of room ends it.
    package static let readinessMilliseconds = 1_000
    /// How many of a worker's slowest requests are remembered, for how long, and from which time on.
    package static let slowestCountMax = 5
    package static let slowestMilliseconds: Int64 = 60_000
    package static let slowestNanosecondsMin: Int64 = 1_000_000
    /// Slow requests that are logged in a second; how many more there were is said with the next.
    package static let slowLinesPerSecondMax = 20
    /// Lines for the access log that wait for the disk, in bytes; further ones are dropped and counted.
    package static let accessLogByteCountMax = 8 << 20
    /// The most of a request's target that a log says, in bytes.
    package static let loggedTargetByteCountMax = 1_024
    /// How often deadlines are checked.
    package static let tickMilliseconds = 250
    /// Payloads up to this size are finished on the worker; longer ones, which may take long to
    /// compress, elsewhere. What is in memory and is not compressed at all is finished on the worker,
    /// too: it takes less than it does to wake another thread.
    package static let inlineFinishByteCountMax = 4 << 10

    // Reading the store again; see `ScrubThread`.

    /// How long after the start that begins, or goes on.
    package static let scrubDelayMilliseconds = 300_000
    /// How often it is written how far it is.
    package static let scrubWriteMilliseconds = 600_000
    /// How long it waits while the daemon is busy, before it looks again.
    package static let scrubLoadedMilliseconds = 250
    /// Bytes of one step, about.
    package static let scrubStepByteCount = 64 << 10
    /// The least rate, in bytes per second: a small store is done soon, and rests.
    package static let scrubRateMin = 256 << 10
    /// Notifications that are named when one of their payloads is found damaged.
    package static let scrubReportedIDCountMax = 10
    /// Damaged payloads that are listed.
    package static let quarantineListedMax = 100

    // Bodies on their way into the store; see `BodyMemory`.

    /// In how many shares their memory is cut: one is kept for bodies that are whole when they are
    /// looked at, one for those and the short ones; all have the rest.
    package static let bodyMemoryShares = 4
    /// Up to this size a body counts as a short one, in bytes.
    package static let shortBodyByteCountMax = 16 << 10
    /// The least memory a body reserves that is not known to need less, in bytes. It reserves twice
    /// as much each time, as its bytes come.
    package static let bodyPieceByteCountMin = 1 << 10
    /// How many bytes come out of one byte of a gzip or deflate coding at the most: 258 of each two bits.
    package static let inflationRatioMax = 1_032
    /// In how many parts the memory and the spool files are cut of which a peer has one at most
    /// while others wait for some.
    package static let bodyPeerParts = 2
    /// Bodies that are spooled to files at once.
    package static let spoolCountMax = 512
    /// Bodies that wait for memory or a file at once; others are refused at once.
    package static let waitingBodyCountMax = 1_024
    /// How long a short body waits for memory before it is refused.
    package static let shortBodyWaitMilliseconds = 500
    /// How long a long one waits.
    package static let longBodyWaitMilliseconds = 5_000
    /// While others wait, a body that has moved less than ``bodyPaceByteCount`` for so long goes on
    /// in a file or is refused.
    package static let bodyStallMilliseconds = 250
    /// The same, in bytes: 64 KiB/s.
    package static let bodyPaceByteCount = 16 << 10
    /// Bodies that one worker moves to files or refuses at once for want of memory: the others have
    /// run in between.
    package static let relievedBodyCountMax = 64
    /// Input that is read at once while bodies wait for memory, in bytes: what comes with the head
    /// of one that has to wait, too, is kept meanwhile.
    package static let inputWhileShortByteCountMax = 16 << 10
    /// From how many bytes on memory that bodies had is returned to the system when they are done.
    package static let trimmedBodyMemoryByteCountMin = 8 << 20

    // Connections that have ended and whose peers may still read what was sent without a copy.

    /// How many connections there may be whose peers have not read what was sent without a copy: each
    /// may come to drain. Payloads are copied to those beyond.
    package static let drainingCountMax = 2_048
    /// The same where descriptors are few.
    package static let drainingCountMin = 256
    /// In how many parts these are cut of which a peer has one at most.
    package static let drainingPeerParts = 2

    /// How long a blob is kept that nothing refers to, when its publisher does not say, in seconds.
    package static let holdSeconds = 3_600

    // MARK: - Replication

    /// How long a start waits for the bucket to say whether this daemon still leads, in milliseconds.
    package static let startMilliseconds = 2_000
    /// How long a read waits on a follower for a change that its client has seen, in milliseconds.
    package static let sequenceWaitMilliseconds = 1_000
    /// Requests that wait for the bucket, or for a follower to catch up.
    package static let replicaWaiterCountMax = 65_536
    /// Threads that fetch evicted payloads from the bucket. Each holds one payload in memory.
    package static let fetchThreadCount = 4
    /// The same where nothing is evicted: they mend what is damaged.
    package static let mendThreadCount = 1
    /// How long a damaged payload is not fetched again after an attempt, in milliseconds.
    package static let mendPauseMilliseconds = 60_000
    /// The same for short ones: bases and segments are read until they are found.
    package static let mendShortPauseMilliseconds = 3_600_000
    /// How long the scrubber waits until the writer has noted what is damaged, in milliseconds.
    package static let scrubNoteMilliseconds = 10_000
    /// Requests that wait for evicted payloads.
    package static let fetchWaiterCountMax = 16_384
    /// How long a request waits for an evicted payload, in milliseconds.
    package static let fetchWaitMilliseconds = 10_000
    /// How long nobody tries again after a payload could not be fetched, in milliseconds.
    package static let fetchRetryMilliseconds = 1_000
    /// How long a payload that was fetched is not evicted, in milliseconds.
    package static let fetchedKeptMilliseconds = 10_000
    /// Payloads of which it is remembered that they were fetched.
    package static let recentFetchCountMax = 65_536
    /// Bytes of payloads that are evicted together.
    package static let evictedByteCountMax = 16 << 20
    /// Chunks that are looked at for them.
    package static let evictionLookCountMax = 16_384
    /// Evicting goes on until the store has this part less than it may, in percent.
    package static let evictionSlackPercent = 5
    /// How often what is shipped is noted in the store's file while nothing is changed, in milliseconds.
    package static let shippedSaveMilliseconds = 1_000
}
