#define _GNU_SOURCE
#include "CLoad.h"

#include <errno.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

int cload_epoll_wait(int set, void *events, int count, int64_t nanoseconds) {
    if (nanoseconds <= 0) return epoll_wait(set, events, count, nanoseconds < 0 ? -1 : 0);
    struct timespec time = {.tv_sec = nanoseconds / 1000000000,
                            .tv_nsec = nanoseconds % 1000000000};
    int ready = epoll_pwait2(set, events, count, &time, NULL);
    if (ready >= 0 || errno != ENOSYS) return ready;
    int64_t milliseconds = nanoseconds / 1000000 + 1;
    return epoll_wait(set, events, count, milliseconds < 3600000 ? (int)milliseconds : 3600000);
}

int cload_receive_timeout(int fd, int64_t milliseconds) {
    struct timeval time = {.tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000};
    return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
}

int cload_pin_thread(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (core < 0 || core >= CPU_SETSIZE) { errno = EINVAL; return -1; }
    CPU_SET(core, &set);
    return sched_setaffinity(0, sizeof set, &set);
}

static int64_t nanoseconds(clockid_t clock) {
    struct timespec now;
    if (clock_gettime(clock, &now) != 0) return -1;
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t cload_thread_time_ns(void) { return nanoseconds(CLOCK_THREAD_CPUTIME_ID); }

int64_t cload_thread_user_time_ns(void) {
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) != 0) return -1;
    return (int64_t)usage.ru_utime.tv_sec * 1000000000 + usage.ru_utime.tv_usec * 1000;
}

int64_t cload_process_time_ns(int32_t process) {
    clockid_t clock;
    if (clock_getcpuclockid(process, &clock) != 0) return -1;
    return nanoseconds(clock);
}

void cload_exact_timers(void) { prctl(PR_SET_TIMERSLACK, 1); }
