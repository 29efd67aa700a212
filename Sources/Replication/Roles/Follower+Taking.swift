internal import BlobStore

/// A fence that a follower has tried to put, and of which it is not known whether it is in the log.
struct UnansweredFence {
    /// Who asked for the lead; nil: nobody did, or was told already.
    var request: (any PromotionRequest)?
    let deposes: Bool
    /// When the follower gives it up.
    let end: Int64
    /// Why that is not known.
    var error: any Error
}

/// The fence of a follower that is in the log.
struct OwnFence {
    let writer: LogWriter
    /// What lies before it.
    let after: LogPosition
    /// Who asked for the lead; nil: nobody did, or was told already.
    var request: (any PromotionRequest)?
    /// Since when nothing before it can be applied.
    var stuckSince: Int64?
}

/// How a follower takes the lead: it puts a fence after the log, applies what lies before that, and leads.
extension Follower {
    func sayRefused(_ why: String) { host.log(.warning, "Not taking the lead: \(why)") }

    /// - Parameter deposes: whether also from a leader that is seen to be alive.
    mutating func takeOver(
        _ request: (any PromotionRequest)?, deposes: Bool = false, on bucket: any Bucket
    ) throws -> Replica.Outcome {
        let (store, applier, begun) = (store, applier, host.uptime)
        let end = unanswered?.end ?? begun + Int64(ReplicationLimits.handoverMilliseconds)
        host.become(.changes)
        do {
            let hasTried = self.nonce != nil
            let nonce = try self.nonce ?? host.prepareToLead()
            self.nonce = nonce
            let outcome = try host.takeOver(
                store, nonce, hasTried: hasTried, deposes: deposes, &log, on: bucket,
                sequence: { store.lastSequence },
                isLate: { [host] in
                    deposes
                        && host.uptime >= begun + ReplicationLimits.applyBeforeFenceMilliseconds
                }, isOver: { [host] in host.uptime >= end }
            ) { segment in
                try applier.apply(segment, on: bucket)
                return true
            }
            switch outcome {
            case .lost(let epoch, let leader):
                host.become(.follows)
                lastSegment = host.uptime
                watch.end()
                if claimsAfter != nil { claimsAfter = Self.claimMilliseconds }
                handover.withdraw()
                unanswered = nil
                request?.refuse("\(leader) took the lead in the meantime (epoch \(epoch))")
                return .next(.again)
            case .leads(let writer): hold(writer, after: log.position, for: request)
            case .fenced(let writer, let position):
                host.log(
                    .notice,
                    "Taking the lead: no other daemon can add to the log after segment \(position.number); applying \(position.number - log.position.number) segments before it"
                )
                hold(writer, after: position, for: request)
            case .unknown(let error):
                handover.end()
                unanswered = UnansweredFence(
                    request: request, deposes: deposes, end: end, error: error)
                throw error
            }
            return .next(.again)
        } catch {
            host.become(.follows)
            // It is tried again until it is known, or the request is given up.
            unanswered?.error = error
            if unanswered == nil, !handover.isPending {
                request?.refuse(Self.refusal(because: error))
            }
            throw error
        }
    }

    /// Follows again, although the fence of this store may be in the log, or get there: who asked has to know, and another
    /// host that is promoted in its stead is not deposed. Where the fence does turn up, this is as after a run that died
    /// before it led.
    mutating func giveUp(_ fence: UnansweredFence) {
        unanswered = nil
        let limit = ReplicationLimits.handoverMilliseconds / 1_000
        let silence = ReplicationLimits.leaderlessMilliseconds / 1_000
        let why =
            "the bucket did not confirm within \(limit) s whether this daemon has ended the old epoch: \(fence.error). It follows again. If blobd replicas shows no leader in \(silence) s, promote it again, or another host"
        host.log(.error, "Gave up taking the lead: \(why)")
        fence.request?.refuse(why)
    }

    /// Notes a fence of this store. It leads when it has all before that.
    private mutating func hold(
        _ writer: LogWriter, after position: LogPosition, for request: (any PromotionRequest)?
    ) {
        host.become(.holds(epoch: writer.epoch))
        fence = OwnFence(writer: writer, after: position, request: request)
        handover.end()
        unanswered = nil
    }

    static func refusal(because error: any Error) -> String {
        switch error {
        case ReplicationError.tooOld, ReplicationError.forked:
            "this host must be rebuilt from the bucket first (\(error)): promote it again then, or another one"
        default: "cannot take the lead: \(error)"
        }
    }

    /// Applies what lies before the fence of this store, and leads then.
    mutating func leadWhenApplied(on bucket: any Bucket) throws -> Replica.Outcome {
        guard let fence, let nonce else { return .next(.again) }
        host.takePromotion()?.refuse("this daemon is taking the lead already")
        do {
            if log.position.number < fence.after.number {
                guard try applyNext(on: bucket, looksForBase: true) != nil else {
                    throw ReplicationError.damaged(
                        name: ShardNames.log(log.position.number + 1), why: "is missing")
                }
                if fence.stuckSince != nil { host.become(.holds(epoch: fence.writer.epoch)) }
                self.fence?.stuckSince = nil
                return .next(.again)
            }
            guard log.position == fence.after else {
                throw ReplicationError.forked(number: fence.writer.position.number)
            }
            // Whoever led before leads again where it saw nothing of this for long.
            if try isFollowed(fence.writer, on: bucket) { return .next(.again) }
            try host.lead(fence.writer, nonce, beginsLogging: host.settings.isLogging)
        } catch {
            guard try isSuperseded(fence.writer, because: error, on: bucket) else { throw error }
            return .next(.again)
        }
        ungiven.noteLead()
        fence.request?.succeed(epoch: fence.writer.epoch)
        return .leads(fence.writer)
    }

    /// Nobody can add to the log before the fence of this store, which cannot lead: whoever asked is told after a while, and
    /// another host that was promoted in its stead is followed.
    private mutating func isSuperseded(
        _ writer: LogWriter, because error: any Error, on bucket: any Bucket
    ) throws -> Bool {
        let now = host.uptime
        let since = fence?.stuckSince ?? now
        fence?.stuckSince = since
        guard now - since >= Int64(ReplicationLimits.handoverMilliseconds) else { return false }
        // It says no more that it is about to lead.
        host.become(.changes)
        if let request = fence?.request {
            let why =
                "no other daemon can add to the log before this one's fence (epoch \(writer.epoch)), but this one cannot apply segment \(log.position.number + 1) before it: \(error). It leads as soon as it can; to have another host lead now, use --force there"
            host.log(.critical, "Cannot take the lead yet: \(why)")
            request.refuse(why)
            fence?.request = nil
        }
        return try isFollowed(writer, on: bucket)
    }

    /// Whether another host has put its fence after that of this store, which follows it then.
    private mutating func isFollowed(
        _ writer: LogWriter, on bucket: any Bucket
    ) throws -> Bool {
        guard let head = try Segment.read(writer.position.number + 1, on: bucket)?.head else {
            return false
        }
        let leader = AliveDocument.host(of: head.epoch, in: store.id, on: bucket)
        host.log(
            .warning,
            "\(leader) has begun epoch \(head.epoch): this daemon follows it, when it can")
        fence?.request?.refuse("\(leader) took the lead in the meantime (epoch \(head.epoch))")
        fence = nil
        host.become(.follows)
        return true
    }
}
