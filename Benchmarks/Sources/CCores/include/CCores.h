// Which cores a thread may run on: calls that Glibc's Swift module leaves out.

#ifndef CCORES_H
#define CCORES_H

enum { ccores_count_max = 1024 };

/// Whether the calling thread may run on a core (sched_getaffinity(2)).
int ccores_may_use(int core);

/// Lets the calling thread run on these cores and no others (sched_setaffinity(2)). Returns 0, or -1
/// with errno.
int ccores_use(const int *cores, int count);

#endif
