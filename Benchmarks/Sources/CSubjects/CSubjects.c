#include "CSubjects.h"

#include <stdlib.h>
#include <string.h>

#include "BaselineStore.h"

struct CLookups {
    BaselineStore store;
    MDB_txn *transaction;
};

CLookups *c_lookups_open(const char *folder) {
    CLookups *lookups = calloc(1, sizeof *lookups);
    if (!lookups) return NULL;
    if (baseline_open(&lookups->store, folder)
        || mdb_txn_begin(lookups->store.environment, NULL, MDB_RDONLY, &lookups->transaction)) {
        free(lookups);
        return NULL;
    }
    mdb_txn_reset(lookups->transaction);
    return lookups;
}

void c_lookups_close(CLookups *lookups) {
    mdb_txn_abort(lookups->transaction);
    mdb_env_close(lookups->store.environment);
    free(lookups);
}

uint64_t c_lookups_read(CLookups *lookups, const void *identifier, size_t length) {
    BaselinePayload payload;
    MDB_val bytes;
    uint64_t sum = 0;
    if (mdb_txn_renew(lookups->transaction)) return 0;
    if (baseline_payload(&lookups->store, lookups->transaction, identifier, length, &payload) == 0
        && baseline_chunk(&lookups->store, lookups->transaction, payload.blob_number, 0, &bytes) == 0)
        sum = bytes.mv_size + *(const uint8_t *)bytes.mv_data;
    mdb_txn_reset(lookups->transaction);
    return sum;
}

uint64_t c_lookups_miss(CLookups *lookups, const void *identifier, size_t length) {
    BaselinePayload payload;
    if (mdb_txn_renew(lookups->transaction)) return 0;
    int result =
        baseline_payload(&lookups->store, lookups->transaction, identifier, length, &payload);
    mdb_txn_reset(lookups->transaction);
    return result == 0;
}

size_t c_find_head_end(const char *bytes, size_t length) {
    const char *at = bytes, *end = bytes + length;
    while ((at = memchr(at, '\r', (size_t)(end - at)))) {
        if (end - at < 4) break;
        if (memcmp(at, "\r\n\r\n", 4) == 0) return (size_t)(at - bytes) + 4;
        at++;
    }
    return length;
}
