/* SPDX-License-Identifier: MIT */
/*
 * The per-thread twins: exported names of their own (a real driver's twin is another address than
 * the function it belongs to) that jump to it.  Which default stream NULL means makes no
 * difference to a driver in which all work is complete at once; where the ledger would show it,
 * the twin is written out in C.
 */
#if defined(__x86_64__)
#define JUMP "jmp "
#elif defined(__aarch64__)
#define JUMP "b "
#endif

/* The indirect branch tracking of newer x86 needs a landing pad; it is a no-op elsewhere. */
#if defined(__x86_64__)
#define LANDING "endbr64\n\t"
#else
#define LANDING ""
#endif

#define VTS_CALL(name, since, symbol)
#define VTS_OWN_TWIN(name, since, symbol, twin_since, suffix)
#define VTS_TWIN(name, since, symbol, twin_since, suffix)                                          \
	__asm__(".text\n\t.p2align 4\n\t.globl " #symbol #suffix "\n\t"                           \
		".type " #symbol #suffix ", %function\n" #symbol #suffix ":\n\t" LANDING JUMP      \
		#symbol "\n\t.size " #symbol #suffix ", .-" #symbol #suffix);
#include "simulator/driver_functions.def"
