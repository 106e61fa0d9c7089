/* What all kernels share: types, and the mark of functions that Python calls. */
#ifndef CASCADEFOREST_EXPORT_H
#define CASCADEFOREST_EXPORT_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

/* A function that becomes part of its callers, so that what they know of its arguments shortens it. */
#define INLINE static inline __attribute__((always_inline))
/* A function of its own: part of several callers it would be compiled as often. */
#define APART static __attribute__((noinline))

/* What a kernel returns that found no memory; Python raises MemoryError. */
#define NO_MEMORY (-1)

#endif
