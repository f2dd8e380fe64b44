/* SPDX-License-Identifier: MIT */
/*
 * void *dlsym(void *handle, const char *name)
 *
 * Ours, in front of libc's.  libc finds the caller by the return address (RTLD_NEXT means "after
 * the caller"), so a C function in between would make every such question look like ours, and
 * libraries that wrap each other would find themselves and recurse.  Hence: every name that does
 * not begin like a driver function (cu[A-Z]), and every one that vt_loader_dlsym() does not answer,
 * jumps on with registers, stack and return address as they came.
 */

#if defined(__x86_64__)

	.text
	.globl	dlsym
	.type	dlsym, @function
	.p2align 4
dlsym:
	.cfi_startproc
	endbr64
	/* A library was opened that does not ask us (hook_deepbind.c). */
	movq	vt_loader_nr_before@gottpoff(%rip), %rax
	cmpl	$0, %fs:(%rax)
	jne	.Lbind

.Lask:
	testq	%rsi, %rsi
	jz	.Lnext
	cmpb	$'c', (%rsi)
	jne	.Lnext
	cmpb	$'u', 1(%rsi)
	jne	.Lnext
	movzbl	2(%rsi), %eax
	subl	$'A', %eax
	cmpl	$25, %eax
	ja	.Lnext

	/*
	 * struct vt_loader_answer vt_loader_dlsym(handle, name, caller): value in rax, is_answered
	 * in rdx
	 */
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	movq	24(%rsp), %rdx
	call	vt_loader_dlsym
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	testq	%rdx, %rdx
	jz	.Lnext
	ret

.Lnext:
	movq	vt_real_next_dlsym(%rip), %rax
	testq	%rax, %rax
	jz	.Lfirst
	jmpq	*%rax

.Lbind:
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	vt_loader_bind_deep
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	.Lask

.Lfirst:
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	vt_real_init_dlsym
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmpq	*%rax
	.cfi_endproc
	.size	dlsym, .-dlsym

#elif defined(__aarch64__)

	/* x0 and x1, the arguments, are kept over a call of a function. */
	.macro	KEEP
	stp	x29, x30, [sp, -32]!
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	mov	x29, sp
	stp	x0, x1, [sp, 16]
	.endm

	.macro	LEAVE
	ldp	x29, x30, [sp], 32
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	.endm

	.macro	GIVE_BACK
	ldp	x0, x1, [sp, 16]
	LEAVE
	.endm

	.text
	.globl	dlsym
	.type	dlsym, %function
	.p2align 4
dlsym:
	.cfi_startproc
	hint	#34			/* bti c */
	/* A library was opened that does not ask us (hook_deepbind.c). */
	mrs	x16, tpidr_el0
	adrp	x17, :gottprel:vt_loader_nr_before
	ldr	x17, [x17, :gottprel_lo12:vt_loader_nr_before]
	ldr	w16, [x16, x17]
	cbnz	w16, .Lbind

.Lask:
	cbz	x1, .Lnext
	ldrb	w16, [x1]
	cmp	w16, #'c'
	b.ne	.Lnext
	ldrb	w16, [x1, 1]
	cmp	w16, #'u'
	b.ne	.Lnext
	ldrb	w16, [x1, 2]
	sub	w16, w16, #'A'
	cmp	w16, #25
	b.hi	.Lnext

	/*
	 * struct vt_loader_answer vt_loader_dlsym(handle, name, caller): value in x0, is_answered
	 * in x1
	 */
	mov	x2, x30
	KEEP
	bl	vt_loader_dlsym
	cbz	x1, .Lunknown
	.cfi_remember_state
	LEAVE
	ret

.Lunknown:
	.cfi_restore_state
	GIVE_BACK

.Lnext:
	adrp	x16, vt_real_next_dlsym
	ldr	x16, [x16, :lo12:vt_real_next_dlsym]
	cbz	x16, .Lfirst
	br	x16

.Lbind:
	KEEP
	bl	vt_loader_bind_deep
	GIVE_BACK
	b	.Lask

.Lfirst:
	KEEP
	bl	vt_real_init_dlsym
	mov	x16, x0
	GIVE_BACK
	br	x16
	.cfi_endproc
	.size	dlsym, .-dlsym

#else
#error "dlsym needs a few lines of assembly for this processor"
#endif

	.section .note.GNU-stack, "", @progbits
