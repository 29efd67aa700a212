import BlobStore
import Logging

/// Edits of categories that are done and not announced to all owners yet. A client is answered when
/// its edit is announced: if it asks for changes after the answer, it finds them.
struct CategoryAnnouncements {
    private var hasEdits = false
    private var editors: [(connection: ConnectionAddress, result: ChangeResult)] = []
    private var errorLog: RateLimitedLog

    init(_ log: Logger) {
        errorLog = RateLimitedLog(log)
    }

    /// Completes an edit when it is announced.
    mutating func complete(_ connection: ConnectionAddress, with result: ChangeResult) {
        hasEdits = true
        editors.append((connection, result))
    }

    /// Does one step of the announcement.
    ///
    /// - Returns: whether there was one.
    /// - Throws: ``StoreError/outcomeUnknown(_:)`` alone.
    mutating func announce(in store: BlobStore) throws(StoreError) -> Bool {
        guard hasEdits else { return false }
        hasEdits = false
        do throws(StoreError) {
            hasEdits = try store.announceCategoryEdits(asOf: .now)
        } catch {
            if case .outcomeUnknown = error { throw error }
            // The edit is done. A later sweep announces the rest.
            errorLog.note(.error, "Cannot publish a category's change to its owners: \(error)")
        }
        if !hasEdits { completeAll() }
        return true
    }

    /// Completes all edits, announced or not.
    mutating func completeAll() {
        for editor in editors { editor.connection.post(.changed(editor.result)) }
        editors = []
    }
}
