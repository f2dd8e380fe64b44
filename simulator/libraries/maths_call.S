/* SPDX-License-Identifier: MIT */
/*
 * A stub jumps here with its table entry in %r11 (aarch64: x17) and the client's call untouched:
 * hands the integer arguments, wherever the calling convention put them, to
 * vts_maths_answer(entry, registers, stack).
 */
#if defined(__x86_64__)

	.text
	.globl vts_maths_call
	.hidden vts_maths_call
	.type vts_maths_call, @function
vts_maths_call:
	.cfi_startproc
	endbr64
	pushq %r9
	.cfi_adjust_cfa_offset 8
	pushq %r8
	.cfi_adjust_cfa_offset 8
	pushq %rcx
	.cfi_adjust_cfa_offset 8
	pushq %rdx
	.cfi_adjust_cfa_offset 8
	pushq %rsi
	.cfi_adjust_cfa_offset 8
	pushq %rdi
	.cfi_adjust_cfa_offset 8
	movq %r11, %rdi
	movq %rsp, %rsi
	leaq 56(%rsp), %rdx /* six registers and the return address */
	subq $8, %rsp /* the stack stays a multiple of 16 at calls */
	.cfi_adjust_cfa_offset 8
	call vts_maths_answer
	addq $56, %rsp
	.cfi_adjust_cfa_offset -56
	ret
	.cfi_endproc
	.size vts_maths_call, .-vts_maths_call

/* The same for a function without an answer: its name is told, 0 returned. */
	.globl vts_maths_call_untold
	.hidden vts_maths_call_untold
	.type vts_maths_call_untold, @function
vts_maths_call_untold:
	.cfi_startproc
	endbr64
	movq %r11, %rdi
	subq $8, %rsp
	.cfi_adjust_cfa_offset 8
	call vts_maths_tell
	addq $8, %rsp
	.cfi_adjust_cfa_offset -8
	xorl %eax, %eax
	ret
	.cfi_endproc
	.size vts_maths_call_untold, .-vts_maths_call_untold

#elif defined(__aarch64__)

	.text
	.globl vts_maths_call
	.hidden vts_maths_call
	.type vts_maths_call, %function
vts_maths_call:
	.cfi_startproc
	hint #34 /* bti c */
	stp x29, x30, [sp, -80]!
	.cfi_def_cfa_offset 80
	.cfi_offset 29, -80
	.cfi_offset 30, -72
	mov x29, sp
	stp x0, x1, [sp, 16]
	stp x2, x3, [sp, 32]
	stp x4, x5, [sp, 48]
	stp x6, x7, [sp, 64]
	mov x0, x17
	add x1, sp, 16
	add x2, sp, 80
	bl vts_maths_answer
	ldp x29, x30, [sp], 80
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size vts_maths_call, .-vts_maths_call

	.globl vts_maths_call_untold
	.hidden vts_maths_call_untold
	.type vts_maths_call_untold, %function
vts_maths_call_untold:
	.cfi_startproc
	hint #34 /* bti c */
	stp x29, x30, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	mov x29, sp
	mov x0, x17
	bl vts_maths_tell
	mov w0, #0
	ldp x29, x30, [sp], 16
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size vts_maths_call_untold, .-vts_maths_call_untold

#else
#error "a call's arguments need a few lines of assembly for this processor"
#endif
	.section .note.GNU-stack, "", @progbits
