import BlobProtocol

extension ConnectionState {
    enum Phase {
        case head
        case body(Upload)
        case awaitingMemory(Upload)
        indirect case awaitingChange(PendingReply)
        /// The writer commits what is pending, so that a request can be answered.
        case awaitingCommit
        /// An owner's changes are waited for, or the end of the time for them.
        case awaitingFeed(FeedReader)
        case streaming(FeedReader)
        case sendingBackup(BackupAnswer)
        /// The next bytes of a body, this many, are thrown away.
        case skipping(UInt64)
        /// The last answer is sent. Input is thrown away until the peer hangs up.
        case lingering
        /// Both directions are shut down. The socket stays open while the peer may read pages of the file from its
        /// queue.
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

        /// Whether a connection may go on with `next`.
        func mayBecome(_ next: Kind) -> Bool {
            // Any connection may end, whatever it is doing.
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
