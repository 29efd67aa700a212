#include "CChecksum.h"

#include <string.h>
#include <zlib.h>

#if defined(__x86_64__)
#include <immintrin.h>

// A message is a polynomial over GF(2), and its CRC the remainder of a division. What stands n bits
// before a place may be moved there, multiplied by x^n modulo the divisor: so 16 bytes are folded
// into the next 16 with two multiplications, and what is left in the end has the same remainder as
// all of it. The bits of CRC-32 are reflected, which is why each power is, too, and is one bit
// longer.

/// The least that is folded: the register is added to the first four bytes.
#define FOLDED_MIN 4

#define FOLDING __attribute__((target("pclmul,sse4.1")))

/// x^(128+32) and x^(128-32), and the same for a distance of four times 128 bits.
#define BY_ONE _mm_set_epi64x(0x0ccaa009e, 0x1751997d0)
#define BY_FOUR _mm_set_epi64x(0x1c6e41596, 0x154442bd4)

/// x^64, for what is left of 96 bits; the divisor, and x^64 divided by it.
#define BY_HALF _mm_set_epi64x(0, 0x163cd6124)
#define DIVISOR _mm_set_epi64x(0x1f7011641, 0x1db710641)

FOLDING static inline __m128i fold(__m128i sum, __m128i next, __m128i powers) {
    __m128i low = _mm_clmulepi64_si128(sum, powers, 0x00);
    __m128i high = _mm_clmulepi64_si128(sum, powers, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

FOLDING static inline __m128i load(const uint8_t *bytes) {
    return _mm_loadu_si128((const __m128i *)bytes);
}

/// The remainder of 16 bytes, as a register.
FOLDING static inline uint32_t reduce(__m128i sum) {
    const __m128i low = _mm_set_epi64x(0x00000000ffffffff, 0x00000000ffffffff);
    // 128 bits to 96, and these to 64: what stands in front is multiplied by its power.
    sum = _mm_xor_si128(_mm_srli_si128(sum, 8), _mm_clmulepi64_si128(sum, BY_ONE, 0x10));
    sum = _mm_xor_si128(
        _mm_srli_si128(sum, 4), _mm_clmulepi64_si128(_mm_and_si128(sum, low), BY_HALF, 0x00));
    // The quotient is found by a multiplication (Barrett), and what it makes is taken away.
    __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(sum, low), DIVISOR, 0x10);
    __m128i made = _mm_clmulepi64_si128(_mm_and_si128(quotient, low), DIVISOR, 0x00);
    return (uint32_t)_mm_extract_epi32(_mm_xor_si128(sum, made), 1);
}

/// Sixteen times -1, the numbers from 0 to 15, and sixteen times -1: where the bytes of a block come
/// from that is moved by some places, with zeros behind it or in front.
static const int8_t places[48] = {
    -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
    -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
};

FOLDING static uint32_t crc32_folded(uint32_t crc, const uint8_t *bytes, size_t count) {
    // zlib gives the register inverted.
    __m128i sum = _mm_cvtsi32_si128((int)~crc);
    if (count < 16) {
        // Zeros in front of a message change nothing, once the register is part of it.
        uint8_t block[16] = {0};
        memcpy(block + 16 - count, bytes, count);
        sum = _mm_shuffle_epi8(sum, load((const uint8_t *)places + count));
        return ~reduce(_mm_xor_si128(load(block), sum));
    }
    sum = _mm_xor_si128(load(bytes), sum);
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
    if (count > 0) {
        // The sum and what is left are cut anew: as many bytes as are left, with zeros in front, and
        // sixteen. The bytes in front of those that are left were read before, and are masked out.
        const uint8_t *start = (const uint8_t *)places;
        __m128i first = _mm_shuffle_epi8(sum, load(start + count));
        __m128i rest = _mm_shuffle_epi8(sum, load(start + 16 + count));
        __m128i isLeft = _mm_cmplt_epi8(load(start + 16 + count), _mm_setzero_si128());
        __m128i last = _mm_and_si128(load(bytes + count - 16), isLeft);
        sum = fold(first, _mm_or_si128(rest, last), BY_ONE);
    }
    return ~reduce(sum);
}

static int can_fold(void) {
    return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}
#endif

uint32_t cchecksum_crc32(uint32_t crc, const void *bytes, size_t count) {
    // zlib takes a null pointer for a request to start over.
    if (count == 0) return crc;
#if defined(__x86_64__)
    if (count >= FOLDED_MIN && can_fold()) return crc32_folded(crc, bytes, count);
#endif
    return (uint32_t)crc32_z(crc, bytes, count);
}
