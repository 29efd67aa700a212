// The mark for blobd's fetches: get of the binary protocol over a store's own file, and nothing
// else. One thread, epoll, LMDB. No checksums, no expiry, no leases, no limits, no publishing: the
// store must stay as it is while this reads it.
//
//   baseline FOLDER SOCKET writev|sendfile

#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "answers.h"
#include "output.h"

enum {
    events_at_once = 64,
    input_byte_count = 16 << 10,
    /// What the kernel holds for a reader; it may give less.
    send_buffer_byte_count = 2 << 20,
};

typedef struct {
    int descriptor;
    /// Edge-triggered: whether there may be more input than was read.
    int may_read;
    size_t start, end;
    Output output;
    uint8_t input[input_byte_count];
} Connection;

static BaselineStore store;
static MDB_txn *transaction;
static SendMode mode;

static void fail(const char *what, const char *why) {
    fprintf(stderr, "baseline: %s: %s\n", what, why);
    exit(1);
}

static void check(int result, const char *what) {
    if (result) fail(what, mdb_strerror(result));
}

static int listen_at(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (strlen(path) >= sizeof address.sun_path) fail(path, "too long for a socket");
    strcpy(address.sun_path, path);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address)
        || listen(listener, 128))
        fail(path, strerror(errno));
    return listener;
}

static void accept_all(int epoll, int listener) {
    int descriptor;
    while ((descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        Connection *connection = calloc(1, sizeof *connection);
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET};
        int size = send_buffer_byte_count;
        if (!connection) fail("accept", "out of memory");
        connection->descriptor = descriptor;
        event.data.ptr = connection;
        setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event)) fail("epoll", strerror(errno));
    }
}

static void close_connection(Connection *connection) {
    close(connection->descriptor);
    free(connection->output.segments);
    free(connection);
}

/// Answers what is whole in the input, as much as may be answered at once. Returns 0 to close.
static int answer_input(Connection *connection) {
    Output *output = &connection->output;
    while (output->head_count < answers_at_once_max) {
        long taken = answer_request(
            &store, transaction, connection->input + connection->start,
            connection->end - connection->start, output);
        if (taken < 0) return 0;
        if (taken == 0) break;
        connection->start += (size_t)taken;
    }
    return 1;
}

/// Reads, answers and sends until one of them cannot continue. Returns 0 to close.
static int serve(Connection *connection) {
    Output *output = &connection->output;
    for (;;) {
        switch (output_send(output, connection->descriptor, mode, &store)) {
        case sent_failed: return 0;
        case sent_some: return 1;
        case sent_all: break;
        }
        if (!answer_input(connection)) return 0;
        if (!output_is_empty(output)) continue;
        if (!connection->may_read) return 1;
        size_t rest = connection->end - connection->start;
        if (connection->start > 0) {
            memmove(connection->input, connection->input + connection->start, rest);
            connection->start = 0;
            connection->end = rest;
        }
        size_t room = input_byte_count - rest;
        ssize_t count = recv(connection->descriptor, connection->input + rest, room, 0);
        if (count == 0) return 0;
        if (count < 0) {
            if (errno == EINTR) continue;
            if (errno != EAGAIN) return 0;
            count = 0;
        }
        // Less than there was room for: the socket is empty, and its next byte is an event.
        if ((size_t)count < room) connection->may_read = 0;
        connection->end += (size_t)count;
    }
}

int main(int argc, char **argv) {
    struct epoll_event events[events_at_once], event = {.events = EPOLLIN};
    if (argc != 4 || (strcmp(argv[3], "writev") && strcmp(argv[3], "sendfile"))) {
        fprintf(stderr, "usage: baseline FOLDER SOCKET writev|sendfile\n");
        return 2;
    }
    mode = strcmp(argv[3], "writev") ? mode_sendfile : mode_writev;
    signal(SIGPIPE, SIG_IGN);
    check(baseline_open(&store, argv[1]), argv[1]);
    check(mdb_txn_begin(store.environment, NULL, MDB_RDONLY, &transaction), "transaction");
    mdb_txn_reset(transaction);
    int listener = listen_at(argv[2]), epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event))
        fail("epoll", strerror(errno));
    puts("ready");
    fflush(stdout);

    for (;;) {
        int count = epoll_wait(epoll, events, events_at_once, -1);
        if (count < 0 && errno != EINTR) fail("epoll", strerror(errno));
        if (count > 0) check(mdb_txn_renew(transaction), "renew");
        for (int index = 0; index < count; index++) {
            Connection *connection = events[index].data.ptr;
            if (!connection) {
                accept_all(epoll, listener);
                continue;
            }
            if (events[index].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) connection->may_read = 1;
            if (!serve(connection)) close_connection(connection);
        }
        if (count > 0) mdb_txn_reset(transaction);
    }
}
