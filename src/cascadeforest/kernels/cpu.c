/* Which library fits this processor, and which sources a library was made from. */
#include "export.h"

EXPORT const char *const source_digest = SOURCE_DIGEST;

#if defined(__x86_64__)
#include <cpuid.h>

/* State of the registers that the system saves for a process: without it wide registers must not be used. */
static uint64_t saved_registers(void) {
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static int has(uint32_t word, uint32_t bits) { return (word & bits) == bits; }

/* Levels of x86-64: 0 any, 1 with AVX2 ('v3'), 2 with AVX-512 ('v4'). */
EXPORT int32_t processor_level(void) {
    uint32_t a, b, c, d, a7, b7, c7, d7;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !__get_cpuid_count(7, 0, &a7, &b7, &c7, &d7)) return 0;
    uint32_t ax, bx, cx = 0, dx;
    if (!__get_cpuid(0x80000001, &ax, &bx, &cx, &dx)) return 0;
    /* OSXSAVE, AVX, F16C, FMA, MOVBE; AVX2, BMI1, BMI2; LZCNT; AVX-512 F, DQ, CD, BW, VL. */
    if (!has(c, bit_OSXSAVE | bit_AVX | bit_F16C | bit_FMA | bit_MOVBE)) return 0;
    if (!has(b7, bit_AVX2 | bit_BMI | bit_BMI2) || !has(cx, bit_LZCNT)) return 0;
    uint64_t saved = saved_registers();
    if ((saved & 0x6) != 0x6) return 0;
    uint32_t wide = bit_AVX512F | bit_AVX512DQ | bit_AVX512CD | bit_AVX512BW | bit_AVX512VL;
    return has(b7, wide) && (saved & 0xE6) == 0xE6 ? 2 : 1;
}
#else
EXPORT int32_t processor_level(void) { return 0; }
#endif
