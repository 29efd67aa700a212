// System calls of the load generator that Glibc's Swift module leaves out. Thin shims only; each
// returns what the call beneath it returns, and leaves errno as that call left it.
#ifndef CLOAD_H
#define CLOAD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Waits for the events of an epoll set, at most `nanoseconds`; a negative time has no end
/// (epoll_pwait2(2), or epoll_wait(2) in whole milliseconds, rounded up, where there is none).
int cload_epoll_wait(int set, void *events, int count, int64_t nanoseconds);

/// Lets no receive of a socket wait longer than this (SO_RCVTIMEO).
int cload_receive_timeout(int fd, int64_t milliseconds);

/// Keeps the calling thread on one core (sched_setaffinity(2)).
int cload_pin_thread(int core);
/// Processor time of the calling thread in nanoseconds (CLOCK_THREAD_CPUTIME_ID).
int64_t cload_thread_time_ns(void);
/// The user's share of the calling thread's processor time in nanoseconds (RUSAGE_THREAD).
int64_t cload_thread_user_time_ns(void);
/// Processor time of a process, all its threads, in nanoseconds (clock_getcpuclockid(3)); -1 when
/// it is not there.
int64_t cload_process_time_ns(int32_t process);
/// Lets timers of the calling thread fire on time (PR_SET_TIMERSLACK).
void cload_exact_timers(void);

#endif
