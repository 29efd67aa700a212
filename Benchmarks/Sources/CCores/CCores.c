#define _GNU_SOURCE
#include "CCores.h"

#include <sched.h>

int ccores_may_use(int core) {
    cpu_set_t set;
    if (core < 0 || core >= ccores_count_max) return 0;
    return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_ISSET(core, &set);
}

int ccores_use(const int *cores, int count) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int index = 0; index < count; index++)
        if (cores[index] >= 0 && cores[index] < ccores_count_max) CPU_SET(cores[index], &set);
    return sched_setaffinity(0, sizeof set, &set);
}
