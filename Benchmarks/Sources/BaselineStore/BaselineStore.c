#include "BaselineStore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    record_header = 40,
    record_expires_at = 8,
    record_created_at = 16,
    record_revision = 24,
    part_blob_number = 32,
    part_given = 40,
    part_stored = 48,
    part_coding = 56,
    part_name_length = 57,
    part_media_type_length = 58,
    part_texts = 60,
    chunk_checksum = 4,
    // What a chunk has in front of its bytes when they are so many or more.
    long_chunk_prefix = 48,
    long_chunk_byte_count_min = 4096,
};

// LMDB's values are only 2-byte aligned, so numbers are copied out.
static uint64_t number64(const uint8_t *at) {
    uint64_t number;
    memcpy(&number, at, sizeof number);
    return number;
}

static uint32_t number32(const uint8_t *at) {
    uint32_t number;
    memcpy(&number, at, sizeof number);
    return number;
}

/// Where data.mdb is mapped. LMDB says so (me_mapaddr) only of maps at a fixed address.
static const uint8_t *map_address(const char *folder) {
    char path[4096], line[4608];
    FILE *maps = fopen("/proc/self/maps", "r");
    const uint8_t *found = NULL;
    if (!maps || !realpath(folder, path)) return NULL;
    strncat(path, "/data.mdb", sizeof path - strlen(path) - 1);
    while (!found && fgets(line, sizeof line, maps)) {
        unsigned long start;
        const char *name = strchr(line, '/');
        line[strcspn(line, "\n")] = 0;
        if (name && strcmp(name, path) == 0 && sscanf(line, "%lx-", &start) == 1)
            found = (const uint8_t *)start;
    }
    fclose(maps);
    return found;
}

int baseline_open(BaselineStore *store, const char *folder) {
    MDB_txn *transaction;
    int result;
    if ((result = mdb_env_create(&store->environment))) return result;
    mdb_env_set_maxdbs(store->environment, 8);
    // As large as the file, whatever was set aside for it to grow: LMDB sees to that.
    mdb_env_set_mapsize(store->environment, 1 << 20);
    if ((result = mdb_env_open(store->environment, folder, MDB_RDONLY | MDB_NOTLS, 0))) return result;
    if ((result = mdb_txn_begin(store->environment, NULL, MDB_RDONLY, &transaction))) return result;
    if ((result = mdb_dbi_open(transaction, "notifications", 0, &store->notifications))) return result;
    if ((result = mdb_dbi_open(transaction, "chunks", 0, &store->chunks))) return result;
    if ((result = mdb_txn_commit(transaction))) return result;
    if ((result = mdb_env_get_fd(store->environment, &store->descriptor))) return result;
    store->map = map_address(folder);
    return store->map ? 0 : MDB_INVALID;
}

int baseline_payload(
    const BaselineStore *store, MDB_txn *transaction, const void *identifier, size_t length,
    BaselinePayload *payload
) {
    MDB_val key = {length, (void *)identifier}, record;
    int result = mdb_get(transaction, store->notifications, &key, &record);
    if (result) return result;
    const uint8_t *bytes = record.mv_data, *part = bytes + record_header;
    payload->expires_at = (int64_t)number64(bytes + record_expires_at);
    payload->created_at = (int64_t)number64(bytes + record_created_at);
    payload->revision = number64(bytes + record_revision);
    payload->digest = part;
    payload->blob_number = number64(part + part_blob_number);
    payload->given_byte_count = number64(part + part_given);
    payload->stored_byte_count = number64(part + part_stored);
    payload->coding = part[part_coding];
    payload->media_type_length = part[part_media_type_length];
    payload->media_type = bytes + number32(part + part_texts) + part[part_name_length];
    return 0;
}

int baseline_chunk(
    const BaselineStore *store, MDB_txn *transaction, uint64_t blob_number, uint32_t index,
    MDB_val *bytes
) {
    struct __attribute__((packed)) {
        uint64_t number;
        uint32_t index;
    } place = {__builtin_bswap64(blob_number), __builtin_bswap32(index)};
    MDB_val key = {sizeof place, &place};
    int result = mdb_get(transaction, store->chunks, &key, bytes);
    if (result) return result;
    size_t prefix = bytes->mv_size < long_chunk_prefix + long_chunk_byte_count_min
        ? chunk_checksum : long_chunk_prefix;
    bytes->mv_data = (uint8_t *)bytes->mv_data + prefix;
    bytes->mv_size -= prefix;
    return 0;
}
