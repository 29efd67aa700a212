// What Glibc's Swift module leaves out: epoll, accept4, eventfd, signalfd, peer credentials and a
// few more. Thin shims only; no logic lives here. Every function returns what the call beneath it
// returns, and leaves errno as that call left it.
//
// They are functions rather than inline ones because the calls need _GNU_SOURCE, with which the C
// library's headers declare types otherwise than Glibc's Swift module has them.
#ifndef CLINUX_H
#define CLINUX_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// epoll(7).

enum {
    CLINUX_IN = 0x001,
    CLINUX_OUT = 0x004,
    CLINUX_ERR = 0x008,
    CLINUX_HUP = 0x010,
    CLINUX_RDHUP = 0x2000,
    CLINUX_EDGE = 1 << 31
};

int clinux_epoll_create(void);
int clinux_epoll_add(int set, int fd, uint32_t events, uint64_t token);
int clinux_epoll_modify(int set, int fd, uint32_t events, uint64_t token);
int clinux_epoll_remove(int set, int fd);
/// The size of struct epoll_event, which is packed on x86-64, so that Swift cannot see it.
size_t clinux_epoll_event_size(void);
int clinux_epoll_wait(int set, void *events, int count, int timeout_ms);
uint64_t clinux_epoll_token(const void *events, int index);
uint32_t clinux_epoll_flags(const void *events, int index);

// eventfd(2) and signalfd(2).

int clinux_eventfd(void);
/// Blocks SIGTERM, SIGINT and SIGHUP for the calling thread and those it starts, and returns a
/// descriptor to read them from.
int clinux_stop_signals(void);
/// A descriptor that is readable while SIGTERM or SIGINT is pending. They are blocked already.
int clinux_end_signals(void);
/// Takes one signal from such a descriptor: its number, or -1.
int clinux_take_signal(int fd);
/// Ignores the signals that mean nothing to a daemon and would end it: a pipe or a socket whose
/// reader is gone and a file over its size limit are errors of their calls (EPIPE, EFBIG).
void clinux_ignore_signals(void);

// Sockets: unix(7), accept4(2).

/// The size of sun_path: a path must be shorter.
enum { CLINUX_PATH_MAX = 108 };

int clinux_unix_socket(void);
int clinux_bind(int fd, const void *path, size_t length);
int clinux_connect(int fd, const void *path, size_t length);
int clinux_set_nonblocking(int fd);
int clinux_accept(int fd);
/// The user at the other end (SO_PEERCRED); 0, or -1 when it is not known.
int clinux_peer_uid(int fd, uint32_t *uid);
/// How much of what was sent the peer has not read yet, in whole kernel buffers (SIOCOUTQ); -1 when
/// it is not known.
int clinux_unread_by_peer(int fd);
ssize_t clinux_receive(int fd, void *bytes, size_t count);
/// Lets a socket hold more that its peer has not read (SO_SNDBUF, up to net.core.wmem_max).
void clinux_set_send_buffer(int fd, int byte_count);
ssize_t clinux_send(int fd, const void *bytes, size_t count);

/// A struct iovec that is only read.
struct clinux_piece {
    const void *bytes;
    size_t count;
};
ssize_t clinux_send_pieces(int fd, const struct clinux_piece *pieces, size_t count);
/// Sends from a file without copying (sendfile(2)); the file's own position stays where it is.
ssize_t clinux_send_file(int fd, int file, int64_t offset, size_t count);
/// A socket that sends datagrams to Unix sockets.
int clinux_datagram_socket(void);
/// Sends one datagram to a Unix socket by its address: a path, or a name in the abstract namespace, which
/// begins with a zero. Unless it waits, a full queue of the receiver is EAGAIN.
int clinux_send_datagram(
    int fd, const void *address, size_t length, const void *bytes, size_t count, int waits);
/// Opens the pipe or the terminal behind a descriptor a second time, to write without waiting. O_NONBLOCK
/// of the descriptor itself would hold for all processes that share it.
int clinux_open_to_write(int fd);
/// 1 for a Unix stream socket that listens, else 0.
int clinux_is_listening(int fd);
/// Closes a descriptor at exec.
int clinux_close_at_exec(int fd);
/// The path that a Unix socket is bound to: its bytes, of which there are at most CLINUX_PATH_MAX, or -1.
int clinux_socket_path(int fd, void *path);
int clinux_shutdown_sending(int fd);
int clinux_shutdown(int fd);

// The process and its threads.

/// Raises the soft limit on descriptors to the hard one and returns it; -1 when it is not known.
int64_t clinux_raise_descriptor_limit(void);
/// Opens a folder for naming files in it (O_PATH).
int clinux_open_folder(const char *path);
/// Names the calling thread, with at most 15 bytes.
void clinux_name_thread(const char *name);

/// From now on a death by SIGBUS, SIGSEGV, SIGABRT, SIGILL, SIGTRAP or SIGFPE leaves a file of that
/// name in that folder, with the signal's number; then the process dies as it would have. The name
/// has at most 63 bytes.
void clinux_note_deaths(int folder, const char *name);
/// Lets this process be killed when the one that started it has ended.
void clinux_die_with_parent(void);
/// A pipe (pipe2(2)): the end to read from, and the one to write to.
int clinux_pipe(int *input, int *output);
/// Memory of so many bytes, zeros, that children can share by its descriptor; -1 where there is
/// none.
int clinux_shared_memory(size_t byte_count);
/// The number under which a child finds the memory it was given.
enum { CLINUX_STARTED_MEMORY = 3 };
/// Starts this very program with other arguments (posix_spawn(3)), its output going to `output`, with
/// `memory` as CLINUX_STARTED_MEMORY and no signals blocked. Returns its process id, or -1.
pid_t clinux_start_self(char *const arguments[], int output, int memory);
/// Starts a program that is found by PATH (posix_spawnp(3)), its output going to `output`, with nothing to read, no
/// signals blocked or ignored, no other descriptors but its errors', and in a process group of its own. Returns its
/// process id, or -1.
pid_t clinux_start_program(char *const arguments[], int output);

/// Gives the calling thread what processor time and disk time nobody else wants (setpriority(2),
/// ioprio_set(2) with the idle class). What the system refuses stays as it was.
void clinux_idle_priority(void);

/// Lowers the priority of the calling thread, for good: others come first where the processor is short.
void clinux_lower_priority(void);

// Clocks: clock_gettime(2), in nanoseconds.

/// Gives free memory back to the system (malloc_trim).
void clinux_trim_memory(void);
int64_t clinux_monotonic_ns(void);
int64_t clinux_boot_ns(void);
int64_t clinux_wall_ns(void);

/// Punches a hole of `length` bytes at `offset` (`fallocate` with `FALLOC_FL_PUNCH_HOLE`); the file
/// keeps its size. Returns 0, or the error's number.
int clinux_punch_hole(int descriptor, int64_t offset, int64_t length);

/// Allocates `length` bytes at `offset` (`fallocate`); the file becomes longer where it ends before them. Returns 0, or the
/// error's number: EOPNOTSUPP where the file system cannot. `posix_fallocate` reads and writes each block then, over what
/// others write.
int clinux_allocate(int descriptor, int64_t offset, int64_t length);

/// Begins to write a range of the page cache to the disk, and does not wait (sync_file_range(2) with
/// `SYNC_FILE_RANGE_WRITE`). A hint: nothing is durable before a sync, which also reports what failed.
void clinux_begin_writeback(int descriptor, int64_t offset, int64_t length);

/// Where the first data from `offset` on is (`lseek` with `SEEK_DATA`); -1 where there is none, or the
/// file system cannot tell. Moves the file's position.
int64_t clinux_next_data(int descriptor, int64_t offset);

/// The type of the file system of a path (statfs(2), linux/magic.h); -1 when it cannot be told.
int64_t clinux_file_system_type(const char *path);
/// Whether a time service keeps the wall clock (adjtimex(2)): 1, 0, or -1 when it cannot be told.
int clinux_clock_is_synchronised(void);
/// Which process listens at the other end of a Unix socket (SO_PEERCRED); -1 when it cannot be told.
int clinux_peer_process(int descriptor);

#endif
