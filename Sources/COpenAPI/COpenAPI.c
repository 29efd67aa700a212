#include "COpenAPI.h"

// `#embed` is C23's; Swift's clang has it in every dialect of C.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char document[] = {
#embed "../../docs/openapi.json"
};

const void *copenapi_bytes(void) { return document; }

size_t copenapi_byte_count(void) { return sizeof document; }
