internal import BlobStore

/// How a leader ships what was committed, and hands over when all of it is.
extension Leader {
    /// One lost answer is not worth a line in the log; so many in a row are.
    private static let saidAttemptCount = 3

    mutating func step(
        _ shipper: inout Shipper, on bucket: any Bucket
    ) throws -> Replica.Outcome {
        // Until the store has stepped down: a full disk may keep it from that.
        if shipper.hasEnded { return try handOver(on: bucket) }
        let wasHandingOver = isHandingOver
        if host.hasWaiters || wasHandingOver {
            // What they wait for can be shipped when it is committed. After the first of these no change is taken
            // while this daemon hands over.
            try host.write { (store) throws(StoreError) in try store.commitPending() }
        }
        let begun = host.uptime
        if host.hasWaiters, begun >= nextBaseLook { lookForBase(on: bucket, at: begun) }
        let isAllShipped = store.shippedSequence == store.lastSequence
        // Before the epoch ends, too. The follower may have given up meanwhile: nobody would lead. Once its end may
        // be in the log there is no way back: a host that finds it takes the lead, without what was changed here since.
        // Nor is there one from being deposed, which a full disk may keep the store from noting.
        if !isDeposed, !shipper.isEnding,
            begun >= nextHandoverLook || (wasHandingOver && isAllShipped)
        {
            try lookForHandover(on: bucket)
        }
        // One that is sent again may be in the log already, from before they asked.
        let isAwaited = shipper.isPending ? false : host.beginSegment()
        switch try shipper.step(
            on: bucket, asOf: host.now, appendsEmpty: isAwaited,
            ends: wasHandingOver && isHandingOver && isAllShipped)
        {
        case .shipped:
            if attempts >= Self.saidAttemptCount { host.log(.notice, "Replication continues") }
            (attempts, problem) = (0, nil)
            nextLook = begun + Int64(ReplicationLimits.beatMilliseconds)
            host.noteMoved(at: begun)
            host.noteSegmentAppended()
            sayLost(shipper.lost, in: shipper.lostSequences)
            host.complete(upTo: replicatedSequence)
            return shipper.hasEnded ? try handOver(on: bucket) : .next(.again)
        case .unknown(let why):
            attempts += 1
            if attempts == 1 { host.log(.debug, "Sending a segment again: \(why)") }
            if attempts == Self.saidAttemptCount {
                host.log(.error, "Replication is paused: \(why)")
            }
            if attempts >= Self.saidAttemptCount { problem = "replication is paused: \(why)" }
            try bucket.pause(beforeRetrying: attempts)
            return .next(.again)
        case .deposed:
            giveUpShipping()
            return .next(.again)
        case .nothing where isHandingOver: return .next(.again)
        case .nothing:
            if begun >= nextLook {
                if try shipper.taken(on: bucket) != nil {
                    giveUpShipping()
                    return .next(.again)
                }
                nextLook = begun + Int64(ReplicationLimits.beatMilliseconds)
            }
            let next = min(
                nextLook, nextHandoverLook, hasBase || !host.hasWaiters ? .max : nextBaseLook)
            return .next(.wait(milliseconds: Int(max(1, next - begun + 1))))
        }
    }

    /// What was shipped is in the bucket, and of no use: the payload that it refers to is nowhere.
    private func sayLost(_ lost: [BlobReference], in sequences: [UInt64]) {
        guard let first = lost.first else { return }
        for blob in lost {
            host.log(
                .critical,
                "The bytes of \(blob.digest) are neither in the bucket nor on this host, and a notification refers to them: publish the payload itself again"
            )
        }
        host.refuseWaiters(
            "stored here, but not replicated: the bytes of \(first.digest) are neither in the bucket nor on this host",
            of: sequences)
    }

    private mutating func lookForBase(on bucket: any Bucket, at now: Int64) {
        // Shipping finds out what is wrong with the bucket.
        guard let bases = try? BaseManifest.numbers(on: bucket) else { return }
        hasBase = !bases.isEmpty
        if !hasBase, nextBaseLook == 0 {
            host.log(
                .notice,
                "Changes are acknowledged as replicated when the first base is in the bucket")
        }
        nextBaseLook =
            now
            + (hasBase
                ? ReplicationLimits.lostBaseLookMilliseconds
                : ReplicationLimits.baseLookMilliseconds)
    }

    /// Somebody else has the next name. What that means is found out from the log, and no change is taken until then.
    private mutating func giveUpShipping() {
        (shipper, met) = (nil, ForeignFence(at: host.uptime))
        (isHandingOver, nextHandoverLook) = (false, 0)
        become(.changes)
    }

    // MARK: - Handing over

    private mutating func lookForHandover(on bucket: any Bucket) throws {
        let begun = host.uptime
        var isAsked = isHandingOver
        do throws(ReplicationError) {
            isAsked = try HandoverDocument.read(epoch, of: store.id, on: bucket) != nil
        } catch {
            // What is no request does not count as one; shipping finds out what is wrong with the bucket.
            if error == .stopped { throw error }
            if case .damaged = error { isAsked = false }
            host.log(.debug, "Cannot read requests to hand over: \(error)")
        }
        // A slow bucket is not slowed down further.
        let pause = max(
            Int64(ReplicationLimits.handoverLookMilliseconds), 10 * (host.uptime - begun))
        nextHandoverLook = host.uptime + pause
        guard isAsked != isHandingOver else { return }
        isHandingOver = isAsked
        if isAsked {
            host.log(.notice, "Handing over: changes are refused until another daemon leads")
            become(.holds(epoch: epoch))
        } else {
            host.log(
                .notice, "The request to hand over was withdrawn: this daemon continues to lead")
            become(.ships(epoch: epoch))
        }
    }

    private func handOver(on bucket: any Bucket) throws -> Replica.Outcome {
        let isLogging = host.settings.isLogging
        become(.changes)
        try host.write { (store) throws(StoreError) in
            if isLogging { try store.endLogging() }
            try store.stepDown(to: .follower)
        }
        let request = Result { try HandoverDocument.read(epoch, of: store.id, on: bucket) }
        let isWithdrawn = if case .success(nil) = request { true } else { false }
        try? bucket.delete(ShardNames.handover(epoch))
        host.log(.notice, "Handed over: this daemon is now a follower")
        // Whoever has withdrawn it does not take the lead.
        return .follows(isWithdrawn ? .handedOverToNobody : .handedOver)
    }
}
