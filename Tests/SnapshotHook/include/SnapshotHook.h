// What others do between two snapshots of a store, as if the thread that opens them had been paused there.
//
// A snapshot renews a read transaction of LMDB. The function that does so takes the place of liblmdb's in the whole
// process: definitions in the executable come first (ELF).
#pragma once

// Has `hook` called before and after the transaction of each snapshot that this thread opens is renewed; NULL: no more.
// It is not called for snapshots that it opens itself, nor for the first ones of a store, which begin their
// transactions.
void snapshot_hook_set(void (*hook)(void *), void *context);
