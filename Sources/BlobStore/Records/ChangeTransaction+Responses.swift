internal import Bytes

extension ChangeTransaction {
    mutating func respond(_ response: ActionResponse) throws(StoreError) -> Outcome {
        let live = live(try existing(response.id))
        do throws(StoreError) {
            guard let live else { return .notFound }
            if let earlier = live.details.responses.last(where: { $0.hasKey(response.key) }) {
                guard earlier.action.isSame(as: response.action),
                    earlier.contentExtension == response.contentExtension
                else {
                    throw .responseConflict(key: response.key ?? "")
                }
                return .unchanged(live)
            }
            guard try offers(response.action, live) else {
                throw .unknownAction(response.action)
            }
        } catch {
            return try Self.refused(error)
        }
        guard let live else { return .notFound }
        var record = response.applied(to: live, asOf: now, revision: counters.revision + 1)
        try replace(live, by: &record)
        return .changed(record)
    }

    /// Whether that may be chosen: its own actions count, or where it has none of its own, those of
    /// the category that its name means to its app.
    private borrowing func offers(
        _ action: String, _ record: Record
    ) throws(StoreError) -> Bool {
        if ActionResponse.isReserved(action) { return true }
        let details = record.details
        var actions = details.actions
        if actions == nil, let name = details.category {
            actions = try category(name, for: record.app)?.actions
        }
        return actions?.contains { $0.identifier.isSame(as: action) } ?? false
    }
}

extension RecordedResponse {
    fileprivate func hasKey(_ key: String?) -> Bool {
        guard let own = self.key, let key else { return false }
        return own.isSame(as: key)
    }
}
