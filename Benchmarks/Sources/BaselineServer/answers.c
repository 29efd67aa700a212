#include "answers.h"

#include <string.h>

enum {
    request_magic = 0xb1,
    answer_magic = 0xb2,
    opcode_hello = 1,
    opcode_get = 4,
    header_byte_count = 24,
    hello_byte_count = 64,
    get_byte_count = 80,
    get_request_byte_count = 24,
    request_head_byte_count_max = 8192,
};

static void put16(uint8_t *at, uint16_t number) { memcpy(at, &number, sizeof number); }
static void put32(uint8_t *at, uint32_t number) { memcpy(at, &number, sizeof number); }
static void put64(uint8_t *at, uint64_t number) { memcpy(at, &number, sizeof number); }

static void compose_header(
    uint8_t *at, const uint8_t *request, uint16_t status, uint32_t head, uint64_t body
) {
    at[0] = answer_magic;
    at[1] = request[1];
    put16(at + 2, status);
    memcpy(at + 4, request + 4, 4);
    put32(at + 8, head);
    put32(at + 12, 0);
    put64(at + 16, body);
}

static void answer_hello(const uint8_t *request, Output *output) {
    uint8_t *answer = output->heads[output->head_count++], *head = answer + header_byte_count;
    compose_header(answer, request, 200, hello_byte_count, 0);
    memset(head, 0, hello_byte_count);
    put16(head, 1);
    put32(head + 4, answers_at_once_max);
    put64(head + 8, 64 << 20);
    put64(head + 16, request_head_byte_count_max);
    output_add(output, answer, header_byte_count + hello_byte_count);
}

static int answer_get(
    const BaselineStore *store, MDB_txn *transaction, const uint8_t *request, Output *output
) {
    const uint8_t *request_head = request + header_byte_count;
    uint8_t *answer = output->heads[output->head_count++], *head = answer + header_byte_count;
    BaselinePayload payload;
    int result = baseline_payload(
        store, transaction, request_head + get_request_byte_count, request_head[16], &payload);
    if (result) {
        compose_header(answer, request, result == MDB_NOTFOUND ? 404 : 500, 0, 0);
        output_add(output, answer, header_byte_count);
        return 0;
    }
    uint32_t head_byte_count = get_byte_count + payload.media_type_length;
    compose_header(answer, request, 200, head_byte_count, payload.stored_byte_count);
    memcpy(head, payload.digest, 32);
    put64(head + 32, payload.given_byte_count);
    put64(head + 40, 0);
    put64(head + 48, (uint64_t)payload.expires_at);
    put64(head + 56, payload.revision);
    put64(head + 64, (uint64_t)payload.created_at);
    put64(head + 72, 0);
    head[72] = payload.coding;
    head[73] = payload.media_type_length;
    memcpy(head + get_byte_count, payload.media_type, payload.media_type_length);
    output_add(output, answer, header_byte_count + head_byte_count);

    uint64_t rest = payload.stored_byte_count;
    for (uint32_t index = 0; rest > 0; index++) {
        MDB_val bytes;
        if (baseline_chunk(store, transaction, payload.blob_number, index, &bytes)) return -1;
        if (bytes.mv_size > rest) return -1;
        output_add(output, bytes.mv_data, bytes.mv_size);
        rest -= bytes.mv_size;
    }
    return 0;
}

long answer_request(
    const BaselineStore *store, MDB_txn *transaction, const uint8_t *input, size_t length,
    Output *output
) {
    uint32_t head;
    uint64_t body;
    if (length < header_byte_count) return 0;
    memcpy(&head, input + 8, sizeof head);
    memcpy(&body, input + 16, sizeof body);
    if (input[0] != request_magic || head > request_head_byte_count_max || body > 0) return -1;
    size_t whole = header_byte_count + head;
    if (length < whole) return 0;
    switch (input[1]) {
    case opcode_hello:
        answer_hello(input, output);
        return (long)whole;
    case opcode_get:
        if (head < get_request_byte_count) return -1;
        if (head < get_request_byte_count + (size_t)input[header_byte_count + 16]) return -1;
        return answer_get(store, transaction, input, output) ? -1 : (long)whole;
    default:
        return -1;
    }
}
