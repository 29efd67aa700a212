#define _GNU_SOURCE
#include "output.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

enum { segments_per_call_max = 1024 };  // IOV_MAX

void output_add(Output *output, const void *bytes, size_t length) {
    if (length == 0) return;
    if (output->count == output->room) {
        output->room = output->room ? output->room * 2 : 64;
        output->segments = realloc(output->segments, output->room * sizeof *output->segments);
        if (!output->segments) abort();
    }
    output->segments[output->count++] = (struct iovec){(void *)bytes, length};
}

static void advance(Output *output, size_t sent) {
    while (sent > 0) {
        struct iovec *segment = &output->segments[output->next];
        if (sent < segment->iov_len) {
            segment->iov_base = (uint8_t *)segment->iov_base + sent;
            segment->iov_len -= sent;
            return;
        }
        sent -= segment->iov_len;
        output->next++;
    }
}

/// Everything there is in one call, however many answers it is.
static ssize_t send_gathered(const Output *output, int descriptor) {
    size_t count = output->count - output->next;
    struct msghdr message = {
        .msg_iov = output->segments + output->next,
        .msg_iovlen = count < segments_per_call_max ? count : segments_per_call_max,
    };
    return sendmsg(descriptor, &message, MSG_NOSIGNAL);
}

/// One segment: ours by send, the file's by sendfile, which links its pages.
static ssize_t send_one(const Output *output, int descriptor, const BaselineStore *store) {
    struct iovec *segment = &output->segments[output->next];
    const uint8_t *bytes = segment->iov_base;
    int is_head = bytes >= (const uint8_t *)output && bytes < (const uint8_t *)(output + 1);
    if (is_head) {
        int more = output->next + 1 < output->count ? MSG_MORE : 0;
        return send(descriptor, bytes, segment->iov_len, MSG_NOSIGNAL | more);
    }
    off_t offset = bytes - store->map;
    return sendfile(descriptor, store->descriptor, &offset, segment->iov_len);
}

SendResult output_send(
    Output *output, int descriptor, SendMode mode, const BaselineStore *store
) {
    while (!output_is_empty(output)) {
        ssize_t sent = mode == mode_writev ? send_gathered(output, descriptor)
                                           : send_one(output, descriptor, store);
        if (sent < 0) {
            if (errno == EAGAIN) return sent_some;
            if (errno == EINTR) continue;
            return sent_failed;
        }
        advance(output, (size_t)sent);
    }
    output->count = output->next = output->head_count = 0;
    return sent_all;
}
