import BlobProtocol

extension ConnectionState {
    enum Phase {
        case head
        case body(Upload)
        case awaitingMemory(Upload)
        case awaitingChange(PendingReply)
        /// Until the writer has committed pending changes that an answer needs.
        case awaitingCommit
        /// Until an owner has changes, or the time for them is up.
        case awaitingFeed(FeedReader)
        case streaming(FeedReader)
        case sendingBackup(BackupAnswer)
        /// The next bytes of a body, this many, are discarded.
        case skipping(UInt64)
        /// The last answer is sent. Input is discarded until the peer hangs up.
        case lingering
        /// Both directions are shut down. The socket stays open while its queue may refer to pages of the file.
        case draining
        case closed
    }
}

extension ConnectionState.Phase {
    var feedReader: FeedReader? {
        switch self {
        case .awaitingFeed(let reader), .streaming(let reader): reader
        default: nil
        }
    }

    /// Whether a connection in this phase has nothing to do once its peer has hung up.
    var endsOnHangUp: Bool {
        switch self {
        case .awaitingFeed, .streaming, .sendingBackup: true
        default: false
        }
    }

    enum Kind: CaseIterable {
        case head, body, awaitingMemory, awaitingChange, awaitingCommit, awaitingFeed, streaming
        case sendingBackup, skipping, lingering, draining, closed

        /// Whether `next` may follow.
        func mayBecome(_ next: Kind) -> Bool {
            // Any connection may be closed in any phase.
            if next == .closed { return self != .closed }
            if next == .draining { return self != .draining && self != .closed }
            return switch self {
            case .head: next != .awaitingMemory
            case .body: [.head, .awaitingMemory, .awaitingChange, .skipping].contains(next)
            case .awaitingMemory: [.head, .body, .skipping].contains(next)
            case .awaitingChange, .awaitingCommit, .awaitingFeed, .streaming, .sendingBackup:
                next == .head
            case .skipping: [.head, .skipping, .lingering].contains(next)
            case .lingering, .draining, .closed: false
            }
        }
    }

    var kind: Kind {
        switch self {
        case .head: .head
        case .body: .body
        case .awaitingMemory: .awaitingMemory
        case .awaitingChange: .awaitingChange
        case .awaitingCommit: .awaitingCommit
        case .awaitingFeed: .awaitingFeed
        case .streaming: .streaming
        case .sendingBackup: .sendingBackup
        case .skipping: .skipping
        case .lingering: .lingering
        case .draining: .draining
        case .closed: .closed
        }
    }
}
