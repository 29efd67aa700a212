extension ChangeTransaction {
    mutating func hold(_ hold: BlobHold, staged: UInt64?) throws(StoreError) -> Outcome {
        throw .notBuilt
    }
}
