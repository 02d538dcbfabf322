/*
 * pfu/atomic.h - the atomic types that the public headers use, in C and in C++.
 *
 * C++ has them under C's names only since C++23; gcc and clang lay them out in the same way in both.
 */
#ifndef PFU_ATOMIC_H
#define PFU_ATOMIC_H

#ifdef __cplusplus
#include <atomic>
#define _Atomic(type) std::atomic<type>
using std::atomic_bool;
using std::atomic_int;
using std::atomic_uint;
using std::atomic_ulong;
using std::atomic_ullong;
using std::memory_order_relaxed;
#else
#include <stdatomic.h>
#endif

#endif
