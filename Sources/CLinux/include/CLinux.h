// What Glibc's Swift module leaves out: epoll, accept4, eventfd, signalfd, peer credentials and a few more. Static
// inline shims only; no logic lives here. Every function returns what the call beneath it returns, and leaves errno
// as that call left it.
#ifndef CLINUX_H
#define CLINUX_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

// epoll(7). struct epoll_event is packed on x86-64, so Swift sees it only through these.

enum {
    CLINUX_IN = EPOLLIN,
    CLINUX_OUT = EPOLLOUT,
    CLINUX_ERR = EPOLLERR,
    CLINUX_HUP = EPOLLHUP,
};

static inline int clinux_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

static inline int clinux_epoll_add(int set, int fd, uint32_t events, uint64_t token) {
    struct epoll_event event = {.events = events, .data = {.u64 = token}};
    return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
}

static inline int clinux_epoll_modify(int set, int fd, uint32_t events, uint64_t token) {
    struct epoll_event event = {.events = events, .data = {.u64 = token}};
    return epoll_ctl(set, EPOLL_CTL_MOD, fd, &event);
}

static inline int clinux_epoll_remove(int set, int fd) {
    struct epoll_event event = {0};
    return epoll_ctl(set, EPOLL_CTL_DEL, fd, &event);
}

static inline size_t clinux_epoll_event_size(void) { return sizeof(struct epoll_event); }

static inline int clinux_epoll_wait(int set, void *events, int count, int timeout_ms) {
    return epoll_wait(set, (struct epoll_event *)events, count, timeout_ms);
}

static inline uint64_t clinux_epoll_token(const void *events, int index) {
    return ((const struct epoll_event *)events)[index].data.u64;
}

static inline uint32_t clinux_epoll_flags(const void *events, int index) {
    return ((const struct epoll_event *)events)[index].events;
}

// eventfd(2) and signalfd(2).

static inline int clinux_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

/// Blocks SIGTERM and SIGINT for the calling thread and those it starts, and returns a descriptor to read them from.
static inline int clinux_stop_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0) return -1;
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/// Takes one signal from such a descriptor: its number, or -1.
static inline int clinux_take_signal(int fd) {
    struct signalfd_siginfo info;
    return read(fd, &info, sizeof info) == (ssize_t)sizeof info ? (int)info.ssi_signo : -1;
}

static inline void clinux_ignore_sigpipe(void) { signal(SIGPIPE, SIG_IGN); }

// Sockets: unix(7), accept4(2), sendfile(2).

enum { CLINUX_PATH_MAX = sizeof(((struct sockaddr_un *)0)->sun_path) };

/// Fills in the address of a path of `length` bytes, which must be under CLINUX_PATH_MAX.
static inline socklen_t clinux_unix_address(
    struct sockaddr_un *address, const void *path, size_t length
) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, path, length);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
}

static inline int clinux_unix_socket(void) {
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static inline int clinux_bind(int fd, const void *path, size_t length) {
    struct sockaddr_un address;
    socklen_t size = clinux_unix_address(&address, path, length);
    return bind(fd, (struct sockaddr *)&address, size);
}

static inline int clinux_connect(int fd, const void *path, size_t length) {
    struct sockaddr_un address;
    socklen_t size = clinux_unix_address(&address, path, length);
    return connect(fd, (struct sockaddr *)&address, size);
}

static inline int clinux_set_nonblocking(int fd) {
    int flags = fcntl(fd, F_GETFL);
    return flags < 0 ? flags : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

static inline int clinux_accept(int fd) {
    return accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

/// The user at the other end (SO_PEERCRED); 0, or -1 when it is not known.
static inline int clinux_peer_uid(int fd, uid_t *uid) {
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    int code = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size);
    if (code == 0) *uid = credentials.uid;
    return code;
}

/// How much of what was sent the peer has not read yet, in whole kernel buffers (SIOCOUTQ); -1 when it is not known.
static inline int clinux_unread_by_peer(int fd) {
    int count = 0;
    return ioctl(fd, SIOCOUTQ, &count) == 0 ? count : -1;
}

static inline ssize_t clinux_sendfile(int to, int from, int64_t offset, size_t count) {
    off_t position = offset;
    return sendfile(to, from, &position, count);
}

static inline ssize_t clinux_send(int fd, const void *bytes, size_t count) {
    return send(fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static inline ssize_t clinux_send_pieces(int fd, const struct iovec *pieces, size_t count) {
    struct msghdr message = {.msg_iov = (struct iovec *)pieces, .msg_iovlen = count};
    return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static inline int clinux_shutdown_sending(int fd) { return shutdown(fd, SHUT_WR); }

// Limits of the process.

/// Raises the soft limit on descriptors to the hard one and returns it; -1 when it is not known.
static inline int64_t clinux_raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
    if (limit.rlim_cur < limit.rlim_max) {
        struct rlimit raised = {.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
    }
    return limit.rlim_cur == RLIM_INFINITY ? INT32_MAX : (int64_t)limit.rlim_cur;
}

// Clocks: clock_gettime(2), in nanoseconds.

static inline int64_t clinux_clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t clinux_monotonic_ns(void) { return clinux_clock(CLOCK_MONOTONIC); }
static inline int64_t clinux_boot_ns(void) { return clinux_clock(CLOCK_BOOTTIME); }
static inline int64_t clinux_wall_ns(void) { return clinux_clock(CLOCK_REALTIME); }

#endif
