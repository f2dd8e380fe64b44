/* SPDX-License-Identifier: MIT */
/*
 * What a C function with a clean-up needs when a C++ exception passes through it: the personality
 * routine, which finds the clean-up, and the function that continues after it.  The compiler's own
 * are in libgcc_s, which this library must not need, and the exception belongs to the unwinder that
 * PyTorch uses.  So these two jump to that one's, found before any exception can come by
 * (torch_autograd.c).  A jump keeps registers, stack and return address: the real functions see our
 * caller as theirs.
 */

#if defined(__x86_64__)
	.macro	JUMP target
	endbr64
	jmpq	*\target(%rip)
	.endm
#elif defined(__aarch64__)
	.macro	JUMP target
	hint	#34			/* bti c */
	adrp	x16, \target
	ldr	x16, [x16, :lo12:\target]
	br	x16
	.endm
#else
#error "the unwinder's two functions need a few lines of assembly for this processor"
#endif

	.text
	.macro	FORWARD name, target
	.globl	\name
	.hidden	\name
	.type	\name, %function
	.p2align 4
\name:
	.cfi_startproc
	JUMP	\target
	.cfi_endproc
	.size	\name, .-\name
	.endm

	FORWARD	_Unwind_Resume, vt_torch_unwind_resume
	FORWARD	__gcc_personality_v0, vt_torch_unwind_personality

	.section .note.GNU-stack, "", @progbits
