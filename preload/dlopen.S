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

#elif defined(__aarch64__)

#define RTLD_DEEPBIND_BIT 3

	.text
	.globl	dlopen
	.type	dlopen, %function
	.p2align 4
dlopen:
	.cfi_startproc
	hint	#34			/* bti c */
	tbnz	w1, #RTLD_DEEPBIND_BIT, .Lprepare
	adrp	x16, vt_real_next_dlopen
	ldr	x16, [x16, :lo12:vt_real_next_dlopen]
	cbz	x16, .Lprepare
	br	x16

.Lprepare:
	stp	x29, x30, [sp, -32]!
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	mov	x29, sp
	stp	x0, x1, [sp, 16]
	and	w0, w1, #(1 << RTLD_DEEPBIND_BIT)
	/* Returns the next dlopen. */
	bl	vt_loader_dlopen
	mov	x16, x0
	ldp	x0, x1, [sp, 16]
	ldp	x29, x30, [sp], 32
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	br	x16
	.cfi_endproc
	.size	dlopen, .-dlopen

#else
#error "dlopen needs a few lines of assembly for this processor"
#endif

	.section .note.GNU-stack, "", @progbits
