#ifndef CCHECKSUM_H
#define CCHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/// CRC-32 as zlib's crc32_z computes it: continues `crc` (0 at the start) with `count` bytes. Where
/// the processor multiplies without carries (x86-64, PCLMULQDQ) about ten times as fast.
uint32_t cchecksum_crc32(uint32_t crc, const void *bytes, size_t count);

#endif
