/* SPDX-License-Identifier: MIT */
/*
 * A stub jumps here with its table entry in %r11 and the client's call untouched: hands the integer
 * arguments, wherever the calling convention put them, to vts_maths_answer(entry, registers,
 * stack).
 */
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
	.section .note.GNU-stack, "", @progbits
