// Misuses that the checks of lifetimes and accesses refuse: the comment above each says with which words.

import BlobStore

@testable import LMDB

// A chunk is returned from the function that opened its snapshot.
// error: lifetime-dependent value escapes its scope
@_lifetime(borrow store)
func viewReturned(_ store: BlobStore, _ id: RawSpan, _ now: Timestamp) throws -> RawSpan {
    let snapshot = try store.makeSnapshot()
    switch try snapshot.payload(for: id, part: RawSpan(), asOf: now) {
    case .found(let payload): return try payload.storedChunk(0)
    case .expired, .missing: return RawSpan()
    }
}

// A payload is kept in a variable that lives longer than the call that it was borrowed in.
// error: lifetime-dependent variable 'kept' escapes its scope
func viewStoredOutside(_ store: BlobStore, _ now: Timestamp) throws -> Int {
    var kept = RawSpan()
    _ = try store.withPayload(for: "42", asOf: now) { payload in
        kept = try payload.storedChunk(0)
    }
    return kept.byteCount
}

// A payload is captured by a task, which may run when the snapshot has long ended.
// error: lifetime-dependent variable 'payload' escapes its scope
func viewInTask(_ store: BlobStore, _ now: Timestamp) throws {
    _ = try store.withPayload(for: "42", asOf: now) { payload in
        Task { print(payload.byteCount) }
    }
}

// A payload is used after its snapshot has ended.
// error: cannot be consumed when captured by an escaping closure or borrowed by a non-Escapable type
func viewAfterSnapshot(_ store: BlobStore, _ now: Timestamp) throws -> Int {
    let id = Array("42".utf8)
    let snapshot = try store.makeSnapshot()
    let found = try snapshot.payload(for: id.span.bytes, part: RawSpan(), asOf: now)
    end(snapshot)
    switch found {
    case .found(let payload): return try payload.storedChunk(0).byteCount
    case .expired, .missing: return 0
    }
}

// A snapshot has one owner, who ends it.
// error: 'snapshot' consumed more than once
func snapshotCopied(_ store: BlobStore) throws {
    let snapshot = try store.makeSnapshot()
    end(snapshot)
    end(snapshot)
}

// A closure's borrowed snapshot is kept beyond it.
// error: 'snapshot' is borrowed and cannot be consumed
func snapshotKeptFromClosure(_ store: BlobStore) throws {
    try store.withSnapshot { (snapshot: borrowing Snapshot) throws(StoreError) in
        end(snapshot)
    }
}

// A transaction is used after it was committed: liblmdb has freed it.
// error: 'transaction' used after consume
func transactionAfterCommit(_ environment: Environment, _ table: Table) throws {
    let key: [UInt8] = [1]
    var transaction = try environment.beginWrite()
    try transaction.commit()
    try transaction.delete(key.span.bytes, in: table)
}

// A value is used after its transaction was committed.
// error: cannot be consumed when captured by an escaping closure or borrowed by a non-Escapable type
func valueAfterCommit(_ environment: Environment, _ table: Table) throws -> Int {
    let key: [UInt8] = [1]
    let transaction = try environment.beginWrite()
    let value = try transaction.value(forKey: key.span.bytes, in: table)
    try transaction.commit()
    return value?.byteCount ?? 0
}

// A value is read after a change that may have moved it.
// error: overlapping accesses to 'transaction'
func writeWhileValueIsHeld(_ environment: Environment, _ table: Table) throws -> Int {
    let key: [UInt8] = [1]
    var transaction = try environment.beginWrite()
    let value = try transaction.value(forKey: key.span.bytes, in: table)
    try transaction.put(key.span.bytes, forKey: key.span.bytes, in: table)
    return value?.byteCount ?? 0
}

// A table is changed under a cursor.
// error: overlapping accesses to 'transaction'
func writeWhileCursorIsOpen(_ environment: Environment, _ table: Table) throws {
    let key: [UInt8] = [1]
    var transaction = try environment.beginWrite()
    var cursor = try Cursor(transaction, in: table)
    try transaction.delete(key.span.bytes, in: table)
    _ = try cursor.move(.first)
}

// A key is used after the cursor has moved on.
// error: overlapping accesses to 'cursor'
func cursorKeyAfterMove(_ environment: Environment, _ table: Table) throws -> Int {
    let transaction = try environment.beginRead()
    var cursor = try Cursor(transaction, in: table)
    _ = try cursor.move(.first)
    let key = cursor.key
    _ = try cursor.move(.next)
    return key.byteCount
}

// A cursor is returned from the function whose transaction it walks.
// error: lifetime-dependent value escapes its scope
@_lifetime(borrow environment)
func cursorOutlivesTransaction(_ environment: Environment, _ table: Table) throws -> Cursor {
    let transaction = try environment.beginRead()
    return try Cursor(transaction, in: table)
}

private func end(_ snapshot: consuming Snapshot) {}
