import Synchronization

/// The results of a batch that is handed to the writer in pieces, while its later lines are still
/// read. Its connection is told once, of all of them.
final class BatchResults: Sendable {
    private struct State {
        var lines: [BatchLine.Answered] = []
        var pieceCount: Int
        /// Whether a piece was applied.
        var isApplied = false
    }

    private let state: Mutex<State>

    /// - Parameter pieceCount: how many pieces there are, at least one.
    init(pieceCount: Int) { state = Mutex(State(pieceCount: pieceCount)) }

    /// Adds the result of a piece. They come in the order in which they were handed over.
    ///
    /// - Parameters:
    ///   - result: the result of each line, or of all of them.
    ///   - lines: the lines of the piece.
    /// - Returns: that of the batch, with the last piece: of each line or, when no piece was applied,
    ///   of all.
    func add(_ result: ChangeResult, of lines: [ChangeBatch.Completion.Line]) -> ChangeResult? {
        state.withLock { state in
            state.pieceCount -= 1
            if case .lines(let answered) = result {
                state.lines += answered
                state.isApplied = true
            } else {
                state.lines += lines.map { line in
                    BatchLine.Answered(
                        id: line.id, result: line.refused.map { .refused($0) } ?? result)
                }
            }
            guard state.pieceCount == 0 else { return nil }
            return state.isApplied ? .lines(state.lines) : result
        }
    }
}
