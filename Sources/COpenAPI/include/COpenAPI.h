// docs/openapi.json, as bytes of the program: it needs no file where it runs.
#ifndef COPENAPI_H
#define COPENAPI_H

#include <stddef.h>

/// The document's bytes. They have no zero at their end.
const void *copenapi_bytes(void);
size_t copenapi_byte_count(void);

#endif
