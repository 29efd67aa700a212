// Payloads looked up in a store of blobd's the way a C program would: two mdb_get, and no checks.
// The bytes it reads are described in docs/FORMAT.md.

#ifndef BASELINE_STORE_H
#define BASELINE_STORE_H

#include <lmdb.h>
#include <stdint.h>

/// A store, open for reading.
typedef struct {
    MDB_env *environment;
    MDB_dbi notifications;
    MDB_dbi chunks;
    /// Where data.mdb is mapped: a value's place in the file is its address less this.
    const uint8_t *map;
    /// data.mdb, for sendfile. LMDB's own descriptor.
    int descriptor;
} BaselineStore;

/// The part `payload` of a notification. Its pointers are LMDB's: good until the transaction ends.
typedef struct {
    const uint8_t *digest;
    const uint8_t *media_type;
    uint8_t media_type_length;
    uint8_t coding;
    uint64_t blob_number;
    uint64_t given_byte_count;
    uint64_t stored_byte_count;
    int64_t expires_at;
    int64_t created_at;
    uint64_t revision;
} BaselinePayload;

/// Opens the store in the folder. Returns 0, or LMDB's error.
int baseline_open(BaselineStore *store, const char *folder);

/// Finds the payload of a notification: one mdb_get. Returns 0, MDB_NOTFOUND, or LMDB's error.
int baseline_payload(
    const BaselineStore *store, MDB_txn *transaction, const void *identifier, size_t length,
    BaselinePayload *payload);

/// Finds a chunk's bytes, without the checksum in front of them: one mdb_get.
int baseline_chunk(
    const BaselineStore *store, MDB_txn *transaction, uint64_t blob_number, uint32_t index,
    MDB_val *bytes);

#endif
