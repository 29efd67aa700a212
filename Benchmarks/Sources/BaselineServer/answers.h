// Requests of docs/PROTOCOL.md, of which there are two here: hello and get.

#ifndef BASELINE_ANSWERS_H
#define BASELINE_ANSWERS_H

#include "output.h"

/// Answers the request at the start of `input`.
///
/// Returns the bytes it took, 0 when it is not whole, and -1 when it is none that is known here.
long answer_request(
    const BaselineStore *store, MDB_txn *transaction, const uint8_t *input, size_t length,
    Output *output);

#endif
