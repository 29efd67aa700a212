internal import Bytes
internal import LMDB

/// A position in a table, in key order: in `data.mdb` and, where there is one, in the memtable over it, as one. What
/// the memtable says of a key counts.
struct TableCursor: ~Copyable, ~Escapable {
    private var tree: Cursor
    private let memtable: MemtableView?
    /// Where the memtable's part stands.
    private var position = MemtablePosition()
    private var entry: MemtableEntry? { position.entry }
    private var treeIsThere = false
    /// Which of the two has the entry that the cursor stands at.
    private var place = Place.nowhere
    private var isForward = true

    private enum Place { case nowhere, tree, memtable, both }

    @_lifetime(copy tree)
    init(_ tree: consuming Cursor, over memtable: MemtableView? = nil) {
        self.tree = tree
        self.memtable = memtable
    }

    var table: Table { tree.table }

    /// The key the cursor stands at; empty before the first move, after the end, and where the page says a key that
    /// it cannot have.
    var key: RawSpan {
        @_lifetime(borrow self)
        get {
            guard place == .memtable || place == .both, let entry else { return tree.key }
            // The reader that this cursor borrows keeps the memtable.
            return _overrideLifetime(entry.key, borrowing: self)
        }
    }

    /// The value the cursor stands at, in place; empty where the key is.
    var value: RawSpan {
        @_lifetime(borrow self)
        get {
            guard place == .memtable || place == .both, let entry else { return tree.value }
            let span = RawSpan(_unsafeStart: entry.value, byteCount: max(0, entry.length))
            // The reader that this cursor borrows keeps the memtable.
            return _overrideLifetime(span, borrowing: self)
        }
    }

    /// Moves in the order of the keys. Returns false when there is no such entry. Throws where the entry of
    /// `data.mdb` is damaged; the cursor stands there all the same, and can be moved on.
    @_lifetime(self: copy self)
    mutating func move(_ step: Cursor.Step) throws(LMDBError) -> Bool {
        guard let memtable else { return try tree.move(step) }
        switch step {
        case .first:
            position = memtable.position(atOrAfter: RawSpan(), in: table.number)
            return try settle(try moveTree(.first), forward: true)
        case .last:
            position = memtable.position(before: nil, in: table.number)
            return try settle(try moveTree(.last), forward: false)
        case .next: return try advance(memtable)
        case .previous: return place == .nowhere ? try move(.last) : try retreat(memtable)
        }
    }

    /// Moves to the first entry whose key is `key` or comes after it.
    @_lifetime(self: copy self)
    mutating func move(toKeyAtOrAfter key: RawSpan) throws(LMDBError) -> Bool {
        guard let memtable else { return try tree.move(toKeyAtOrAfter: key) }
        position = memtable.position(atOrAfter: key, in: table.number)
        return try settle(try seekTree(key), forward: true)
    }

    @_lifetime(self: copy self)
    private mutating func advance(_ memtable: MemtableView) throws(LMDBError) -> Bool {
        if place == .nowhere { return try move(.first) }
        if !isForward {
            // The other part stands before the key, or at none.
            let key = self.key.array()
            if place == .tree {
                position = memtable.position(atOrAfter: key.span.bytes, in: table.number)
            }
            if place == .memtable { treeIsThere = try seekTree(key.span.bytes) }
        }
        var isThere = treeIsThere
        if place != .tree, let at = entry { position = memtable.position(after: at, position) }
        if place != .memtable { isThere = try moveTree(.next) }
        return try settle(isThere, forward: true)
    }

    @_lifetime(self: copy self)
    private mutating func retreat(_ memtable: MemtableView) throws(LMDBError) -> Bool {
        if isForward {
            // The other part stands after the key, or at none.
            let key = self.key.array()
            if place == .tree {
                position = memtable.position(before: key.span.bytes, in: table.number)
            }
            if place == .memtable {
                treeIsThere = try moveTree(try seekTree(key.span.bytes) ? .previous : .last)
            }
        }
        var isThere = treeIsThere
        if place != .tree, let at = entry {
            position = memtable.position(before: at.key, in: table.number)
        }
        if place != .memtable { isThere = try moveTree(.previous) }
        return try settle(isThere, forward: false)
    }

    /// Chooses the part that comes first on the way, and steps over what the memtable says is deleted.
    @_lifetime(self: copy self)
    private mutating func settle(
        _ isThere: Bool, forward: Bool
    ) throws(LMDBError) -> Bool {
        isForward = forward
        treeIsThere = isThere
        while let at = entry, let memtable {
            let order = treeIsThere ? at.key.order(to: tree.key) * (forward ? 1 : -1) : -1
            if order > 0 { break }
            place = order == 0 ? .both : .memtable
            if at.length >= 0 { return true }
            position =
                forward
                ? memtable.position(after: at, position)
                : memtable.position(before: at.key, in: table.number)
            if order == 0 { treeIsThere = try moveTree(forward ? .next : .previous) }
        }
        place = treeIsThere ? .tree : .nowhere
        return treeIsThere
    }

    /// Where the tree's entry is damaged, the cursor stands at it.
    @_lifetime(self: copy self)
    private mutating func moveTree(_ step: Cursor.Step) throws(LMDBError) -> Bool {
        do throws(LMDBError) {
            return try tree.move(step)
        } catch {
            noteDamaged()
            throw error
        }
    }

    @_lifetime(self: copy self)
    private mutating func seekTree(_ key: RawSpan) throws(LMDBError) -> Bool {
        do throws(LMDBError) {
            return try tree.move(toKeyAtOrAfter: key)
        } catch {
            noteDamaged()
            throw error
        }
    }

    @_lifetime(self: copy self)
    private mutating func noteDamaged() {
        treeIsThere = true
        place = .tree
    }
}

extension TableCursor {
    @_lifetime(self: copy self)
    mutating func go(_ step: Cursor.Step) throws(StoreError) -> Bool {
        do throws(LMDBError) { return try move(step) } catch {
            throw StoreError(error, at: key, in: table.name)
        }
    }

    /// Moves to the first entry whose key is `key` or comes after it.
    @_lifetime(self: copy self)
    mutating func seek(_ key: RawSpan) throws(StoreError) -> Bool {
        do throws(LMDBError) { return try move(toKeyAtOrAfter: key) } catch {
            throw StoreError(error, at: self.key, in: table.name)
        }
    }

    @_lifetime(self: copy self)
    mutating func find(_ key: RawSpan) throws(StoreError) -> Bool {
        try seek(key) && self.key.equals(key)
    }
}
