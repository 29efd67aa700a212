// Clocks and random numbers: see SimulatedSystem.h.
#define _GNU_SOURCE
#include "SimulatedSystem.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint64_t chance_state;
static int64_t clock_wall_ms, clock_monotonic_ms;

void sim_chance_seed(uint64_t seed) { chance_state = seed; }

void sim_clock_set(int64_t wall_ms, int64_t monotonic_ms) {
    clock_wall_ms = wall_ms;
    clock_monotonic_ms = monotonic_ms;
}

int64_t sim_real_monotonic_ms(void) {
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int sim_fork(void) { return fork(); }
void sim_line_output(void) { setvbuf(stdout, NULL, _IOLBF, 0); }

// SplitMix64.
static uint64_t chance_next(void) {
    uint64_t mixed = chance_state += 0x9E3779B97F4A7C15;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    return mixed ^ (mixed >> 31);
}

void arc4random_buf(void *buffer, size_t count) {
    unsigned char *bytes = buffer;
    while (count > 0) {
        uint64_t number = chance_next();
        size_t step = count < 8 ? count : 8;
        memcpy(bytes, &number, step);
        bytes += step;
        count -= step;
    }
}

ssize_t getrandom(void *buffer, size_t count, unsigned flags) {
    (void)flags;
    arc4random_buf(buffer, count);
    return (ssize_t)count;
}

int getentropy(void *buffer, size_t count) {
    arc4random_buf(buffer, count);
    return 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int64_t ms = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ? clock_wall_ms
                                                                           : clock_monotonic_ms;
    now->tv_sec = ms / 1000;
    now->tv_nsec = ms % 1000 * 1000000;
    return 0;
}
