// Whole notifications, patches and removals.

extension ChangeTransaction {
    mutating func publish(
        _ draft: NotificationDraft, staged: [Digest: UInt64]
    ) throws(StoreError) -> Outcome { throw .notBuilt }

    mutating func patch(_ patch: NotificationPatch) throws(StoreError) -> Outcome {
        throw .notBuilt
    }

    mutating func remove(_ removal: Removal) throws(StoreError) -> Outcome { throw .notBuilt }
}
