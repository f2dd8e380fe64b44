/* SPDX-License-Identifier: MIT */
/*
 * void *dlopen(const char *path, int flags)
 *
 * Ours, in front of libc's, for the one flag that takes look-ups away from us: RTLD_DEEPBIND is
 * noted (hook_deepbind.c).  Jumps on with registers, stack and return address as they came: libc
 * finds by the return address whose RUNPATH and whose namespace it searches.
 */

#if defined(__x86_64__)

#define RTLD_DEEPBIND 8

	.text
	.globl	dlopen
	.type	dlopen, @function
	.p2align 4
dlopen:
	.cfi_startproc
	endbr64
	testl	$RTLD_DEEPBIND, %esi
	jnz	.Lprepare
	movq	vt_real_next_dlopen(%rip), %rax
	testq	%rax, %rax
	jz	.Lprepare
	jmpq	*%rax

.Lprepare:
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	andl	$RTLD_DEEPBIND, %esi
	movl	%esi, %edi
	/* Returns the next dlopen. */
	call	vt_loader_dlopen
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmpq	*%rax
	.cfi_endproc
	.size	dlopen, .-dlopen

#else
#error "dlopen needs a few lines of assembly for this processor"
#endif

	.section .note.GNU-stack, "", @progbits
