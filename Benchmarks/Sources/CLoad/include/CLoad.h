// System calls of the load generator that Glibc's Swift module leaves out. Thin shims only; each
// returns what the call beneath it returns, and leaves errno as that call left it.
//
// They are functions rather than inline ones because the calls need _GNU_SOURCE, with which the C
// library's headers declare types otherwise than Glibc's Swift module has them.
#ifndef CLOAD_H
#define CLOAD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

int cload_epoll_create(void);
/// Adds a descriptor to an epoll set, to wait for input.
int cload_epoll_add(int set, int fd, uint64_t token);
/// Waits for input, and for room to send if `room` is not 0.
int cload_epoll_modify(int set, int fd, int room, uint64_t token);
/// The size of struct epoll_event, which is packed on x86-64, so that Swift cannot see it.
size_t cload_epoll_event_size(void);
uint64_t cload_epoll_token(const void *events, int index);
/// Waits for the events of an epoll set, at most `nanoseconds`; a negative time has no end
/// (epoll_pwait2(2), or epoll_wait(2) in whole milliseconds, rounded up, where there is none).
int cload_epoll_wait(int set, void *events, int count, int64_t nanoseconds);

/// The size of sun_path: a path must be shorter.
enum { CLOAD_PATH_MAX = 108 };
int cload_unix_socket(void);
int cload_connect(int fd, const void *path, size_t length);
/// Which process listens at the other end of a Unix socket (SO_PEERCRED); -1 when it cannot be told.
int cload_peer_process(int fd);
ssize_t cload_receive(int fd, void *bytes, size_t count);
/// A struct iovec that is only read.
struct cload_piece {
    const void *bytes;
    size_t count;
};
ssize_t cload_send_pieces(int fd, const struct cload_piece *pieces, size_t count);
ssize_t cload_send(int fd, const void *bytes, size_t count);
/// Lets no receive of a socket wait longer than this (SO_RCVTIMEO).
int cload_receive_timeout(int fd, int64_t milliseconds);

/// Keeps the calling thread on one core (sched_setaffinity(2)).
int cload_pin_thread(int core);
/// Raises the soft limit on descriptors to the hard one, as far as it can.
void cload_raise_descriptor_limit(void);
int64_t cload_monotonic_ns(void);
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
