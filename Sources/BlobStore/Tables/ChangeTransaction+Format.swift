internal import LMDB

extension ChangeTransaction {
    /// Writes a format version, with all else that the format record says, unless it is that or higher.
    mutating func requireFormat(_ version: UInt32) throws(StoreError) {
        var format = try storedFormat()
        guard format.version < version else { return }
        format.version = version
        try setMeta(FormatRecord.name, to: format.bytes)
    }

    private borrowing func storedFormat() throws(StoreError) -> FormatRecord {
        let name = Array(FormatRecord.name.utf8)
        guard let value = try transaction.get(name.span.bytes, in: tables.meta),
            let format = FormatRecord(value)
        else { throw .corrupt("the format record") }
        return format
    }
}
