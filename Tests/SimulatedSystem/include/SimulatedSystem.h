// The system as the simulator has it: a disk that forgets what was not synced, a clock that is set, and
// random numbers that a seed repeats.
//
// The functions of the C library that are defined in Disk.c and Chance.c take the place of libc's in the whole
// process, also where liblmdb and libswiftCore call them: definitions in the executable come first (ELF). Of
// files below a registered folder they keep what the last sync made durable; for all others they only pass on.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { SIM_HOST_MAX = 8 };

// What happened to a host's disk, for reports.
typedef struct {
    uint64_t writes, syncs, cut_pages, lost_pages;
} sim_disk_counts;

// Registers a folder whose files are simulated, or forgets it with all that is known of its files.
void sim_disk_add(int host, const char *folder);
void sim_disk_remove(int host);

// Freezes the disk at the so many-th call from now that would change it (1: the next one): that call is done in
// part, or not at all, and it and all later ones fail with EIO. 0: never.
void sim_disk_freeze_after(int host, uint64_t calls);
void sim_disk_freeze(int host);
bool sim_disk_is_frozen(int host);

// Lets the disk be written to again, by the next process.
void sim_disk_thaw(int host);

// The so many-th sync from now fails with EIO, and what it should have written is lost at the next power cut, even
// where later syncs succeed. 0: none.
void sim_disk_fail_sync_after(int host, uint64_t syncs);

// Whether nothing can be allocated any more.
void sim_disk_set_full(int host, bool is_full);

// Of each page keeps the first ones of its writes that no sync has covered, and of one more perhaps some sectors,
// as the seed says. Nobody may have the host's files open or mapped that reads them later.
void sim_disk_cut_power(int host, uint64_t seed);

sim_disk_counts sim_disk_get_counts(int host);

// Removes a folder with all that is in it, and makes it a copy of another one (of nothing: NULL) but for LMDB's lock
// file: as a snapshot of its machine has it. Returns 0, or -1.
int sim_folder_replace(const char *folder, const char *source);

// Turns a bit in each place of a file that has these bytes, and returns how many there were.
int sim_file_flip(const char *path, const uint8_t *bytes, size_t count);

// The seed of getrandom(2) and its likes.
void sim_chance_seed(uint64_t seed);
// What clock_gettime(2) says.
void sim_clock_set(int64_t wall_ms, int64_t monotonic_ms);
// What it would say.
int64_t sim_real_monotonic_ms(void);

// fork(2), which Swift does not have.
int sim_fork(void);

// Has standard output written line by line.
void sim_line_output(void);
