/// LMDB's pages on 64-bit machines (`MDB_page`, `MDB_node`, `MDB_meta`, `MDB_db`), in bytes.
package enum PageLayout {
    /// In front of what a page has.
    package static let headerByteCount = 16
    /// In front of an entry's key: the value's length, flags, and the key's length.
    package static let entryHeaderByteCount = 8
    /// LMDB's `MDB_MAXKEYSIZE`.
    static let keyByteCountMax = 511

    // The flags of a page in the file are those of its kind, and only in memory "dirty" is added.
    package static let branch: UInt16 = 0x01
    package static let leaf: UInt16 = 0x02
    package static let overflow: UInt16 = 0x04
    package static let meta: UInt16 = 0x08
    static let kinds: UInt16 = 0x0F
    // Only in memory: yet to be written, and left out of the next write (`P_DIRTY`, `P_KEEP`).
    static let dirty: UInt16 = 0x10
    static let keep: UInt16 = 0x8000

    /// Where the flags are in the header, and how many pages a long value has.
    package static let flagsOffset = 10
    package static let pageCountOffset = 12
    /// Of another page: where its entries' places end, and where its entries begin.
    package static let lowerOffset = 12
    package static let upperOffset = 14

    // The flags of an entry in a leaf.
    package static let hasOwnPages: UInt16 = 1
    package static let isTable: UInt16 = 2

    /// A table's entry in the main table, and the root in it.
    package static let tableByteCount = 48
    static let rootOffset = 40

    // A meta page, from its first byte on.
    package static let metaMagicOffset = 16
    package static let metaVersionOffset = 20
    package static let metaMapSizeOffset = 32
    package static let metaFreeListOffset = 40
    package static let metaMainOffset = 88
    static let metaRootOffset = 128
    package static let metaLastPageOffset = 136
    package static let metaCommitOffset = 144
    package static let metaByteCount = 152

    package static let magic: UInt32 = 0xBEEF_C0DE
    package static let version: UInt32 = 1
}
