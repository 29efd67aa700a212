#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

_Static_assert(CLINUX_IN == EPOLLIN && CLINUX_OUT == EPOLLOUT, "epoll's numbers");
_Static_assert(CLINUX_RDHUP == EPOLLRDHUP && (uint32_t)CLINUX_EDGE == EPOLLET, "epoll's numbers");
_Static_assert(CLINUX_ERR == EPOLLERR && CLINUX_HUP == EPOLLHUP, "epoll's numbers");
_Static_assert(CLINUX_PATH_MAX == sizeof(((struct sockaddr_un *)0)->sun_path), "unix(7)");
_Static_assert(sizeof(struct clinux_piece) == sizeof(struct iovec), "a piece is an iovec");
_Static_assert(offsetof(struct clinux_piece, count) == offsetof(struct iovec, iov_len), "iovec");

int clinux_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

static int control(int set, int operation, int fd, uint32_t events, uint64_t token) {
    struct epoll_event event = {.events = events, .data = {.u64 = token}};
    return epoll_ctl(set, operation, fd, &event);
}

int clinux_epoll_add(int set, int fd, uint32_t events, uint64_t token) {
    return control(set, EPOLL_CTL_ADD, fd, events, token);
}

int clinux_epoll_modify(int set, int fd, uint32_t events, uint64_t token) {
    return control(set, EPOLL_CTL_MOD, fd, events, token);
}

int clinux_epoll_remove(int set, int fd) { return control(set, EPOLL_CTL_DEL, fd, 0, 0); }

size_t clinux_epoll_event_size(void) { return sizeof(struct epoll_event); }

int clinux_epoll_wait(int set, void *events, int count, int timeout_ms) {
    return (int)syscall(SYS_epoll_pwait, set, events, count, timeout_ms, NULL, _NSIG / 8);
}

uint64_t clinux_epoll_token(const void *events, int index) {
    return ((const struct epoll_event *)events)[index].data.u64;
}

uint32_t clinux_epoll_flags(const void *events, int index) {
    return ((const struct epoll_event *)events)[index].events;
}

int clinux_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int clinux_stop_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0) return -1;
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int clinux_end_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int clinux_take_signal(int fd) {
    struct signalfd_siginfo info;
    return read(fd, &info, sizeof info) == (ssize_t)sizeof info ? (int)info.ssi_signo : -1;
}

void clinux_ignore_signals(void) {
    static const int meaningless[] = {
        SIGPIPE, SIGXFSZ, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGSTKFLT,
    };
    for (size_t index = 0; index < sizeof meaningless / sizeof *meaningless; index++) {
        signal(meaningless[index], SIG_IGN);
    }
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) signal(number, SIG_IGN);
}

static socklen_t unix_address(struct sockaddr_un *address, const void *path, size_t length) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, path, length);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
}

int clinux_unix_socket(void) { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }

int clinux_bind(int fd, const void *path, size_t length) {
    struct sockaddr_un address;
    if (length >= sizeof address.sun_path) { errno = ENAMETOOLONG; return -1; }
    socklen_t size = unix_address(&address, path, length);
    return bind(fd, (struct sockaddr *)&address, size);
}

int clinux_connect(int fd, const void *path, size_t length) {
    struct sockaddr_un address;
    if (length >= sizeof address.sun_path) { errno = ENAMETOOLONG; return -1; }
    socklen_t size = unix_address(&address, path, length);
    return connect(fd, (struct sockaddr *)&address, size);
}

int clinux_set_nonblocking(int fd) {
    int flags = fcntl(fd, F_GETFL);
    return flags < 0 ? flags : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

int clinux_accept(int fd) { return accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK); }

int clinux_peer_uid(int fd, uint32_t *uid) {
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    int code = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size);
    if (code == 0) *uid = credentials.uid;
    return code;
}

int clinux_unread_by_peer(int fd) {
    int count = 0;
    return ioctl(fd, SIOCOUTQ, &count) == 0 ? count : -1;
}

// What every request needs is asked of the kernel without the C library's own functions: in a
// process with threads they are cancellation points, which costs two locked instructions a call,
// and no thread is ever cancelled here.

ssize_t clinux_receive(int fd, void *bytes, size_t count) {
    return syscall(SYS_recvfrom, fd, bytes, count, MSG_DONTWAIT, NULL, NULL);
}

void clinux_set_send_buffer(int fd, int byte_count) {
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &byte_count, sizeof byte_count);
}

ssize_t clinux_send(int fd, const void *bytes, size_t count) {
    return syscall(SYS_sendto, fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT, NULL, 0);
}

ssize_t clinux_send_pieces(int fd, const struct clinux_piece *pieces, size_t count) {
    // sendmsg only reads through an iovec.
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)pieces, .msg_iovlen = count};
    return syscall(SYS_sendmsg, fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t clinux_send_file(int fd, int file, int64_t offset, size_t count) {
    off_t position = offset;
    return sendfile(fd, file, &position, count);
}

int clinux_datagram_socket(void) { return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0); }

int clinux_send_datagram(
    int fd, const void *name, size_t length, const void *bytes, size_t count, int waits) {
    struct sockaddr_un address;
    socklen_t size = unix_address(&address, name, length);
    // The name of an abstract socket has no zero at its end.
    if (length > 0 && *(const char *)name == 0) size = offsetof(struct sockaddr_un, sun_path) + length;
    int flags = MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT);
    return sendto(fd, bytes, count, flags, (struct sockaddr *)&address, size) < 0 ? -1 : 0;
}

int clinux_open_to_write(int fd) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static int socket_option(int fd, int option) {
    int value = -1;
    socklen_t size = sizeof value;
    return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

int clinux_is_listening(int fd) {
    return socket_option(fd, SO_DOMAIN) == AF_UNIX && socket_option(fd, SO_TYPE) == SOCK_STREAM &&
           socket_option(fd, SO_ACCEPTCONN) == 1;
}

int clinux_close_at_exec(int fd) { return fcntl(fd, F_SETFD, FD_CLOEXEC); }

int clinux_socket_path(int fd, void *path) {
    struct sockaddr_un address;
    socklen_t size = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &size) != 0) return -1;
    if (size <= offsetof(struct sockaddr_un, sun_path)) return 0;
    size_t length = strnlen(address.sun_path, size - offsetof(struct sockaddr_un, sun_path));
    memcpy(path, address.sun_path, length);
    return (int)length;
}

int clinux_shutdown_sending(int fd) { return shutdown(fd, SHUT_WR); }

int clinux_shutdown(int fd) { return shutdown(fd, SHUT_RDWR); }

int64_t clinux_raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
    if (limit.rlim_cur < limit.rlim_max) {
        struct rlimit raised = {.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
    }
    return limit.rlim_cur == RLIM_INFINITY ? INT32_MAX : (int64_t)limit.rlim_cur;
}

int clinux_open_folder(const char *path) { return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC); }

void clinux_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

// Deaths. The handler calls only what a signal handler may (signal-safety(7)).

static const int deadly[] = {SIGBUS, SIGSEGV, SIGABRT, SIGILL, SIGTRAP, SIGFPE};
enum { DEADLY_COUNT = sizeof deadly / sizeof deadly[0] };
static struct sigaction before[DEADLY_COUNT];
static int death_folder = -1;
static char death_name[64];

static void note_death(int signal, siginfo_t *info, void *context) {
    (void)context;
    int file = openat(death_folder, death_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    if (file >= 0) {
        char text[] = "signal 00\n";
        text[7] = (char)('0' + signal / 10);
        text[8] = (char)('0' + signal % 10);
        ssize_t written = write(file, text, sizeof text - 1);
        (void)written;
        close(file);
    }
    for (int i = 0; i < DEADLY_COUNT; i++) {
        if (deadly[i] == signal) sigaction(signal, &before[i], NULL);
    }
    // What an instruction has caused it causes again when this returns; what was sent is sent again.
    if (info->si_code <= 0) syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal);
}

void clinux_note_deaths(int folder, const char *name) {
    death_folder = folder;
    strncpy(death_name, name, sizeof death_name - 1);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = note_death;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    // The parent process may have had some of them blocked.
    sigset_t signals;
    sigemptyset(&signals);
    for (int i = 0; i < DEADLY_COUNT; i++) {
        sigaction(deadly[i], &action, &before[i]);
        sigaddset(&signals, deadly[i]);
    }
    pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
}

void clinux_die_with_parent(void) { prctl(PR_SET_PDEATHSIG, SIGKILL); }

int clinux_pipe(int *input, int *output) {
    int ends[2];
    int code = pipe2(ends, O_CLOEXEC);
    if (code != 0) return code;
    *input = ends[0];
    *output = ends[1];
    return 0;
}

int clinux_shared_memory(size_t byte_count) {
    int memory = memfd_create("blobd", MFD_CLOEXEC);
    if (memory < 0) return memory;
    if (ftruncate(memory, (off_t)byte_count) == 0) return memory;
    close(memory);
    return -1;
}

pid_t clinux_start_self(char *const arguments[], int output, int memory) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t pid = -1;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_adddup2(&actions, memory, CLINUX_STARTED_MEMORY);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int code = posix_spawn(
        &pid, "/proc/self/exe", &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (code == 0) return pid;
    errno = code;
    return -1;
}

pid_t clinux_start_program(char *const arguments[], int output) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    pid_t pid = -1;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    // liblmdb's file stays open at exec.
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
#endif
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes,
        POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    int code = posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (code == 0) return pid;
    errno = code;
    return -1;
}

static int64_t nanoseconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void clinux_trim_memory(void) { malloc_trim(0); }

void clinux_idle_priority(void) {
    // Both are of threads in Linux. 1: a process or thread; 3: the idle class, above its 13 bits.
    setpriority(PRIO_PROCESS, 0, 19);
    syscall(SYS_ioprio_set, 1, 0, 3 << 13);
}

void clinux_lower_priority(void) { setpriority(PRIO_PROCESS, 0, 10); }

int64_t clinux_monotonic_ns(void) { return nanoseconds(CLOCK_MONOTONIC); }
int64_t clinux_boot_ns(void) { return nanoseconds(CLOCK_BOOTTIME); }
int64_t clinux_wall_ns(void) { return nanoseconds(CLOCK_REALTIME); }

int clinux_punch_hole(int descriptor, int64_t offset, int64_t length) {
    int result;
    do {
        result = fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length);
    } while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

int clinux_allocate(int descriptor, int64_t offset, int64_t length) {
    int result;
    do {
        result = fallocate(descriptor, 0, offset, length);
    } while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

void clinux_begin_writeback(int descriptor, int64_t offset, int64_t length) {
    (void)sync_file_range(descriptor, offset, length, SYNC_FILE_RANGE_WRITE);
}

int64_t clinux_next_data(int descriptor, int64_t offset) {
    return lseek(descriptor, offset, SEEK_DATA);
}

int64_t clinux_file_system_type(const char *path) {
    struct statfs status;
    return statfs(path, &status) == 0 ? (int64_t)(uint32_t)status.f_type : -1;
}

int clinux_clock_is_synchronised(void) {
    struct timex state = {0};
    int code = adjtimex(&state);
    if (code < 0) return -1;
    return code != TIME_ERROR && !(state.status & STA_UNSYNC);
}

int clinux_peer_process(int descriptor) {
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return -1;
    return credentials.pid;
}
