extension ChangeTransaction {
    mutating func respond(_ response: ActionResponse) throws(StoreError) -> Outcome {
        throw .notBuilt
    }
}
