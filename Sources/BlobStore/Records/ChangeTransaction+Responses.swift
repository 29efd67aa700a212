internal import Bytes

extension ChangeTransaction {
    mutating func respond(_ response: ActionResponse) throws(StoreError) -> Outcome {
        let live = live(try existing(response.id))
        do throws(StoreError) {
            guard let live else { return .notFound }
            if let earlier = live.details.responses.last(where: { $0.isRepeated(by: response) }) {
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
    /// Whether that has its key and comes from its device. Two devices know nothing of each other's
    /// keys: the same key from another one is another response.
    fileprivate func isRepeated(by response: ActionResponse) -> Bool {
        guard let own = self.key, let key = response.key else { return false }
        return own.isSame(as: key) && device.isSame(as: response.device)
    }
}
