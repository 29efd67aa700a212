// What a connection still has to send: heads in this memory, and parts of the mapped file.

#ifndef BASELINE_OUTPUT_H
#define BASELINE_OUTPUT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "BaselineStore.h"

typedef enum { mode_writev, mode_sendfile } SendMode;

enum {
    /// Answers that are composed before they must be sent.
    answers_at_once_max = 64,
    /// A frame's header, an answer to get, and the longest media type.
    head_byte_count_max = 24 + 80 + 255,
};

typedef struct {
    struct iovec *segments;
    size_t count, next, room;
    unsigned head_count;
    uint8_t heads[answers_at_once_max][head_byte_count_max];
} Output;

typedef enum { sent_all, sent_some, sent_failed } SendResult;

/// Adds bytes that stay where they are until they are sent.
void output_add(Output *output, const void *bytes, size_t length);

/// Sends as much as the socket takes.
SendResult output_send(
    Output *output, int descriptor, SendMode mode, const BaselineStore *store);

static inline int output_is_empty(const Output *output) { return output->next == output->count; }

#endif
