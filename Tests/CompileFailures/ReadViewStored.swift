// error: stored property 'view' of 'Escapable'-conforming struct

// A borrowed transaction is stored in a value that may go anywhere.

@testable import LMDB

struct Keeper {
    var view: ReadView
}
