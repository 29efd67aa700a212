extension ChangeTransaction {
    mutating func setCategory(_ category: Category) throws(StoreError) -> Outcome {
        throw .notBuilt
    }

    mutating func removeCategory(_ name: String) throws(StoreError) -> Outcome {
        throw .notBuilt
    }
}
