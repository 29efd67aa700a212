#define _GNU_SOURCE
#include "CLoad.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>

int cload_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

static int control(int set, int operation, int fd, int room, uint64_t token) {
    struct epoll_event event = {.events = room ? EPOLLIN | EPOLLOUT : EPOLLIN, .data = {.u64 = token}};
    return epoll_ctl(set, operation, fd, &event);
}

int cload_epoll_add(int set, int fd, uint64_t token) {
    return control(set, EPOLL_CTL_ADD, fd, 0, token);
}

int cload_epoll_modify(int set, int fd, int room, uint64_t token) {
    return control(set, EPOLL_CTL_MOD, fd, room, token);
}

size_t cload_epoll_event_size(void) { return sizeof(struct epoll_event); }

uint64_t cload_epoll_token(const void *events, int index) {
    return ((const struct epoll_event *)events)[index].data.u64;
}

int cload_epoll_wait(int set, void *events, int count, int64_t nanoseconds) {
    if (nanoseconds <= 0) return epoll_wait(set, events, count, nanoseconds < 0 ? -1 : 0);
    struct timespec time = {.tv_sec = nanoseconds / 1000000000,
                            .tv_nsec = nanoseconds % 1000000000};
    int ready = epoll_pwait2(set, events, count, &time, NULL);
    if (ready >= 0 || errno != ENOSYS) return ready;
    int64_t milliseconds = nanoseconds / 1000000 + 1;
    return epoll_wait(set, events, count, milliseconds < 3600000 ? (int)milliseconds : 3600000);
}

int cload_unix_socket(void) { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }

int cload_connect(int fd, const void *path, size_t length) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    _Static_assert(sizeof address.sun_path == CLOAD_PATH_MAX, "the size of sun_path");
    if (length >= sizeof address.sun_path) { errno = ENAMETOOLONG; return -1; }
    memcpy(address.sun_path, path, length);
    return connect(fd, (struct sockaddr *)&address, sizeof address);
}

int cload_peer_process(int fd) {
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return -1;
    return credentials.pid;
}

ssize_t cload_receive(int fd, void *bytes, size_t count) {
    return recv(fd, bytes, count, MSG_DONTWAIT);
}

ssize_t cload_send_pieces(int fd, const struct cload_piece *pieces, size_t count) {
    // sendmsg only reads through an iovec.
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)pieces, .msg_iovlen = count};
    return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t cload_send(int fd, const void *bytes, size_t count) {
    return send(fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
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

void cload_raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int64_t cload_monotonic_ns(void) { return nanoseconds(CLOCK_MONOTONIC); }

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
