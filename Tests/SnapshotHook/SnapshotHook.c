#define _GNU_SOURCE
#include "SnapshotHook.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct MDB_txn MDB_txn;

static _Thread_local void (*hook)(void *);
static _Thread_local void *hook_context;
static _Thread_local bool is_inside;
static int (*renew)(MDB_txn *);

__attribute__((constructor)) static void find(void) {
    renew = (int (*)(MDB_txn *))dlsym(RTLD_NEXT, "mdb_txn_renew");
    if (!renew) abort();
}

void snapshot_hook_set(void (*new_hook)(void *), void *context) {
    hook = new_hook;
    hook_context = context;
}

static void act(void) {
    if (!hook || is_inside) return;
    is_inside = true;
    hook(hook_context);
    is_inside = false;
}

int mdb_txn_renew(MDB_txn *transaction);
// A snapshot has a transaction and a memtable: something is done before, and between the two.
int mdb_txn_renew(MDB_txn *transaction) {
    act();
    int result = renew(transaction);
    act();
    return result;
}
