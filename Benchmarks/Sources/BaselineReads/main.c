// What two mdb_get in a renewed transaction cost a C program: the mark for reads in process.
//
//   baseline-reads FOLDER IDS SECONDS [renew|held] [READS]
//
// IDS is a file with one notification id a line, read in a random order that is the same in every
// run. `renew` renews the transaction for every read, `held` for every 256. With READS it makes so
// many and stops, for counting instructions. Prints one line of JSON.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "BaselineStore.h"

typedef struct {
    const char *bytes;
    size_t length;
} Identifier;

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static void fail(const char *what, int code) {
    fprintf(stderr, "baseline-reads: %s: %s\n", what, mdb_strerror(code));
    exit(1);
}

static Identifier *read_identifiers(const char *path, size_t *count) {
    FILE *file = fopen(path, "r");
    Identifier *list = NULL;
    size_t room = 0;
    char line[512];
    if (!file) fail(path, 2);
    for (*count = 0; fgets(line, sizeof line, file); ++*count) {
        if (*count == room) list = realloc(list, (room = room ? room * 2 : 1024) * sizeof *list);
        line[strcspn(line, "\n")] = 0;
        list[*count] = (Identifier){strdup(line), strlen(line)};
    }
    fclose(file);
    if (*count == 0) fail("no ids", 22);
    return list;
}

/// xorshift64*: the same numbers as the Swift side of the comparison.
static uint64_t next_number(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 2685821657736338717u;
}

/// Makes `count` reads. Not inlined, so that a profiler can tell them from the setup.
static __attribute__((noinline)) uint64_t make_reads(
    const BaselineStore *store, MDB_txn *transaction, const Identifier *list, size_t list_count,
    uint64_t *state, uint64_t count, uint64_t per_transaction
) {
    uint64_t sum = 0;
    for (uint64_t done = 0; done < count;) {
        int result = mdb_txn_renew(transaction);
        if (result) fail("renew", result);
        for (uint64_t held = 0; held < per_transaction && done < count; held++, done++) {
            // A multiplication instead of a division: an index from the upper 32 bits.
            Identifier one = list[(next_number(state) >> 32) * list_count >> 32];
            BaselinePayload payload;
            MDB_val bytes;
            if ((result = baseline_payload(store, transaction, one.bytes, one.length, &payload)))
                fail(one.bytes, result);
            if ((result = baseline_chunk(store, transaction, payload.blob_number, 0, &bytes)))
                fail(one.bytes, result);
            sum += bytes.mv_size + *(const uint8_t *)bytes.mv_data;
        }
        mdb_txn_reset(transaction);
    }
    return sum;
}

int main(int argc, char **argv) {
    BaselineStore store;
    MDB_txn *transaction;
    size_t count;
    uint64_t state = 0x9e3779b97f4a7c15, sum = 0, reads = 0;
    int result;
    if (argc < 4) {
        fprintf(stderr, "usage: baseline-reads FOLDER IDS SECONDS [renew|held] [READS]\n");
        return 2;
    }
    Identifier *list = read_identifiers(argv[2], &count);
    double length = atof(argv[3]);
    uint64_t per_transaction = argc > 4 && strcmp(argv[4], "held") == 0 ? 256 : 1;
    uint64_t fixed = argc > 5 ? strtoull(argv[5], NULL, 10) : 0;
    if ((result = baseline_open(&store, argv[1]))) fail(argv[1], result);
    if ((result = mdb_txn_begin(store.environment, NULL, MDB_RDONLY, &transaction)))
        fail("begin", result);
    mdb_txn_reset(transaction);

    double begin = seconds_now(), now = begin;
    do {
        uint64_t some = fixed ? fixed : 1 << 16;
        sum += make_reads(&store, transaction, list, count, &state, some, per_transaction);
        reads += some;
        now = seconds_now();
    } while (!fixed && now - begin < length);
    printf(
        "{\"reads\":%" PRIu64 ",\"seconds\":%.6f,\"readsPerSecond\":%.0f,\"sum\":%" PRIu64 "}\n", reads,
        now - begin, reads / (now - begin), sum);
    mdb_txn_abort(transaction);
    mdb_env_close(store.environment);
    return 0;
}
