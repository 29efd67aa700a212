#include "CChecksum.h"

#include <zlib.h>

#if defined(__x86_64__)
#include <immintrin.h>

// A message is a polynomial over GF(2), and its CRC the remainder of a division. What stands n bits
// before a place may be moved there, multiplied by x^n modulo the divisor: so 16 bytes are folded
// into the next 16 with two multiplications, and what is left in the end has the same remainder as
// all of it. The bits of CRC-32 are reflected, which is why each power is, too, and is one bit
// longer.

/// The least that is folded.
#define FOLDED_MIN 48

#define FOLDING __attribute__((target("pclmul,sse4.1")))

/// x^(128+32) and x^(128-32), and the same for a distance of four times 128 bits.
#define BY_ONE _mm_set_epi64x(0x0ccaa009e, 0x1751997d0)
#define BY_FOUR _mm_set_epi64x(0x1c6e41596, 0x154442bd4)

FOLDING static inline __m128i fold(__m128i sum, __m128i next, __m128i powers) {
    __m128i low = _mm_clmulepi64_si128(sum, powers, 0x00);
    __m128i high = _mm_clmulepi64_si128(sum, powers, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

FOLDING static inline __m128i load(const uint8_t *bytes) {
    return _mm_loadu_si128((const __m128i *)bytes);
}

FOLDING static uint32_t crc32_folded(uint32_t crc, const uint8_t *bytes, size_t count) {
    // zlib gives the register inverted.
    __m128i sum = _mm_xor_si128(load(bytes), _mm_cvtsi32_si128((int)~crc));
    bytes += 16;
    count -= 16;
    if (count >= 2 * 64) {
        // Four at a time, since a multiplication takes longer than the next may be begun.
        __m128i second = load(bytes), third = load(bytes + 16), fourth = load(bytes + 32);
        bytes += 48;
        count -= 48;
        while (count >= 64) {
            sum = fold(sum, load(bytes), BY_FOUR);
            second = fold(second, load(bytes + 16), BY_FOUR);
            third = fold(third, load(bytes + 32), BY_FOUR);
            fourth = fold(fourth, load(bytes + 48), BY_FOUR);
            bytes += 64;
            count -= 64;
        }
        sum = fold(sum, second, BY_ONE);
        sum = fold(sum, third, BY_ONE);
        sum = fold(sum, fourth, BY_ONE);
    }
    while (count >= 16) {
        sum = fold(sum, load(bytes), BY_ONE);
        bytes += 16;
        count -= 16;
    }
    // What is left counts as a message of its own, from an empty register on.
    uint8_t rest[16];
    _mm_storeu_si128((__m128i *)rest, sum);
    uLong whole = crc32_z(0xffffffff, rest, sizeof rest);
    return (uint32_t)(count > 0 ? crc32_z(whole, bytes, count) : whole);
}

static int can_fold(void) {
    return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}
#endif

uint32_t cchecksum_crc32(uint32_t crc, const void *bytes, size_t count) {
    // zlib takes a null pointer for a wish to start over.
    if (count == 0) return crc;
#if defined(__x86_64__)
    if (count >= FOLDED_MIN && can_fold()) return crc32_folded(crc, bytes, count);
#endif
    return (uint32_t)crc32_z(crc, bytes, count);
}
