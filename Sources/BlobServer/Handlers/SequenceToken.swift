import BlobProtocol
import BlobStore
import Bytes

/// Identifies the batch of a change: an epoch and a number. `Blobd-Sequence: 3-1234`.
struct SequenceToken: Equatable {
    static let fieldName: StaticString = "Blobd-Sequence"
    private static let lowercaseName: StaticString = "blobd-sequence"

    var epoch: UInt64
    var sequence: UInt64

    var text: String { "\(epoch)-\(sequence)" }

}

extension SequenceToken {
    init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let epoch = UInt64(parts[0]), let sequence = UInt64(parts[1]),
            epoch > 0
        else { return nil }
        self.init(epoch: epoch, sequence: sequence)
    }

    init?(_ head: HTTPRequestHead, _ bytes: RawSpan) throws(ProtocolError) {
        guard let value = try head.value(of: Self.lowercaseName, in: bytes) else { return nil }
        self = try require(
            SequenceToken(value.of(bytes).text()), .malformed,
            "Blobd-Sequence is \(value.of(bytes).excerpt()); it must be EPOCH-SEQUENCE, as an answer had it"
        )
    }
}

extension BlobStore {
    /// The last batch; nil for a store that is not replicated.
    var sequenceToken: SequenceToken? {
        guard let state = replicationState else { return nil }
        // In this order: a batch of the epoch before may be said to be of the next one, in which it is, too.
        let sequence = lastSequence
        return SequenceToken(epoch: lastEpoch ?? state.epoch, sequence: sequence)
    }
}

extension RequestHandler {
    /// The batch that the daemon has to wait for before it answers. Throws `behind` if it has already waited, and
    /// `sequence_lost` if that batch will never arrive.
    func missing(
        _ head: HTTPRequestHead, _ bytes: RawSpan, hasWaited: Bool
    ) throws(ProtocolError) -> UInt64? {
        guard let token = try SequenceToken(head, bytes), token.sequence > 0 else { return nil }
        try require(
            store.hasSequence(token.sequence, of: token.epoch), .sequenceLost,
            "the change \(token.text) was lost with the host that led epoch \(token.epoch)")
        let own = store.sequenceToken ?? SequenceToken(epoch: 0, sequence: 0)
        // Who was deposed, and does not know or say so yet, may have as many batches of its own in an earlier epoch.
        guard own.epoch < token.epoch || own.sequence < token.sequence else { return nil }
        guard hasWaited else { return token.sequence }
        throw ProtocolError(
            .behind,
            "this daemon has the changes up to \(own.text), and the change \(token.text) is asked for; ask \(replica.leaderToAsk)"
        )
    }

    /// What a change waits for: as requested or, if nil, the daemon's default.
    func acknowledgement(
        asked wanted: Acknowledgement?
    ) throws(ProtocolError) -> Acknowledgement {
        // A request may ask for more than the default, not for less.
        let usual = replica.options.acknowledgement
        guard let wanted else { return usual }
        guard wanted == .replicated || usual == .replicated else { return .local }
        try require(
            replica.role != .alone, .notReplicated, "this daemon is not replicated (--replicate)")
        return .replicated
    }
}
