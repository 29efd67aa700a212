// The baselines of the microbenchmarks: what a C program would do in the place of the store.

#ifndef C_SUBJECTS_H
#define C_SUBJECTS_H

#include <stddef.h>
#include <stdint.h>

/// A store of blobd's, opened by C.
typedef struct CLookups CLookups;

/// Opens the store in a folder. NULL when it cannot be opened. A process opens a folder once.
CLookups *c_lookups_open(const char *folder);
void c_lookups_close(CLookups *lookups);

/// Finds a notification's record and the first chunk of its payload, in a transaction renewed for
/// it: two mdb_get. Returns the chunk's length and first byte together; 0 when there is none.
uint64_t c_lookups_read(CLookups *lookups, const void *identifier, size_t length);

/// Finds nothing: one mdb_get in a transaction renewed for it. Returns 0.
uint64_t c_lookups_miss(CLookups *lookups, const void *identifier, size_t length);

/// Where "\r\n\r\n" stands, as memchr and memcmp find it; `length` when it does not.
size_t c_find_head_end(const char *bytes, size_t length);

#endif
