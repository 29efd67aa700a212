internal import Bytes
internal import LMDB

// What each owner has is counted where records are put and removed, in the same transaction.

extension ChangeTransaction {
    /// What an owner has. One that is damaged counts as none; `verify` names it.
    borrowing func usage(of owner: String) throws(StoreError) -> OwnerUsage {
        let key = IndexKeys.usage(owner)
        guard let value = try get(key.span.bytes, in: tables.index) else { return OwnerUsage() }
        return (try? OwnerUsage(value, key: key.span.bytes)) ?? OwnerUsage()
    }

    /// Counts that `new` takes the place of `old`. Costs nothing where their bytes are as many, and one
    /// lookup and one put where not.
    mutating func countUsage(_ old: Record?, _ new: Record?) throws(StoreError) {
        let oldByteCount = old?.byteCount ?? 0
        let newByteCount = new?.byteCount ?? 0
        if let owner = new?.owner {
            if let oldOwner = old?.owner, oldOwner.isSame(as: owner) {
                return try changeUsage(
                    of: owner, notifications: 0, bytes: newByteCount - oldByteCount)
            }
            try changeUsage(of: owner, notifications: 1, bytes: newByteCount)
        }
        if let owner = old?.owner {
            try changeUsage(of: owner, notifications: -1, bytes: -oldByteCount)
        }
    }

    private mutating func changeUsage(
        of owner: String, notifications: Int, bytes: Int
    ) throws(StoreError) {
        guard notifications != 0 || bytes != 0 else { return }
        let usage = try usage(of: owner).changed(notifications: notifications, bytes: bytes)
        try set(usage, of: owner)
    }

    /// Stores what an owner has; an owner without notifications has no entry.
    mutating func set(_ usage: OwnerUsage, of owner: String) throws(StoreError) {
        let key = IndexKeys.usage(owner)
        guard usage.notifications > 0 else {
            try removeIndex(key)
            return
        }
        let value = usage.words(key: key.span.bytes)
        try transaction.set(key.span.bytes, to: value.span.bytes, in: tables.index)
    }
}

extension Record {
    var byteCount: Int { parts.reduce(0) { $0 + $1.byteCount } }
}
