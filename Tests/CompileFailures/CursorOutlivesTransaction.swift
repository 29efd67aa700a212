// error: lifetime-dependent value escapes its scope

// A cursor is returned from the function whose transaction it walks.

@testable import LMDB

@_lifetime(borrow environment)
func cursor(_ environment: Environment, _ table: Table) throws -> Cursor {
    let transaction = try environment.beginRead()
    return try Cursor(transaction, in: table)
}
