// A function for each in functions.inc, by its name, that goes where its entry says: to the library's own, or, as
// long as they are not loaded, to `load`, which has libraries.cpp load them all.
//
// Entry: what libraries.cpp calls Function; all of them lie in a section whose ends the linker knows.

#if defined(__CET__)
#include <cet.h>
#endif

// What comes before the code of a function: its entry, at the label 2.
.macro entry library, name
  .section .rodata
1: .asciz "\name"
  .section millrace_ffmpeg_calls, "aw", %progbits
  .balign 8
2: .quad load
  .quad 1b
  .quad \library
  .text
  .balign 4
  .globl \name
  .hidden \name
  .type \name, %function
.endm

#if defined(__x86_64__)

.macro function library, name
  entry \library, \name
\name:
  endbr64
  lea 2b(%rip), %r11
  jmp *(%r11)
  .size \name, . - \name
.endm

// With the arguments of the call in their registers, and the entry in r11.
  .text
  .type load, @function
load:
  .cfi_startproc
  endbr64
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  mov %rsp, %rbp
  .cfi_def_cfa_register %rbp
  push %rax  // how many vector registers have arguments, of functions that take any number
  push %rdi
  push %rsi
  push %rdx
  push %rcx
  push %r8
  push %r9
  push %r11
  sub $128, %rsp
  movups %xmm0, (%rsp)
  movups %xmm1, 16(%rsp)
  movups %xmm2, 32(%rsp)
  movups %xmm3, 48(%rsp)
  movups %xmm4, 64(%rsp)
  movups %xmm5, 80(%rsp)
  movups %xmm6, 96(%rsp)
  movups %xmm7, 112(%rsp)
  call millrace_load_functions
  movups (%rsp), %xmm0
  movups 16(%rsp), %xmm1
  movups 32(%rsp), %xmm2
  movups 48(%rsp), %xmm3
  movups 64(%rsp), %xmm4
  movups 80(%rsp), %xmm5
  movups 96(%rsp), %xmm6
  movups 112(%rsp), %xmm7
  add $128, %rsp
  pop %r11
  pop %r9
  pop %r8
  pop %rcx
  pop %rdx
  pop %rsi
  pop %rdi
  pop %rax
  pop %rbp
  .cfi_def_cfa %rsp, 8
  .cfi_restore %rbp
  jmp *(%r11)
  .cfi_endproc
  .size load, . - load

#elif defined(__aarch64__)

.macro function library, name
  entry \library, \name
\name:
  hint #34  // bti c
  adrp x16, 2b
  add x16, x16, :lo12:2b
  ldar x17, [x16]  // acquire, for the release of load_ffmpeg()
  br x17
  .size \name, . - \name
.endm

// With the arguments of the call in their registers, and the entry in x16.
  .text
  .balign 4
  .type load, %function
load:
  .cfi_startproc
  hint #36  // bti j
  stp x29, x30, [sp, #-224]!
  .cfi_def_cfa_offset 224
  .cfi_offset x29, -224
  .cfi_offset x30, -216
  mov x29, sp
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  stp x8, x16, [sp, #80]
  stp q0, q1, [sp, #96]
  stp q2, q3, [sp, #128]
  stp q4, q5, [sp, #160]
  stp q6, q7, [sp, #192]
  bl millrace_load_functions
  ldp q6, q7, [sp, #192]
  ldp q4, q5, [sp, #160]
  ldp q2, q3, [sp, #128]
  ldp q0, q1, [sp, #96]
  ldp x8, x16, [sp, #80]
  ldp x6, x7, [sp, #64]
  ldp x4, x5, [sp, #48]
  ldp x2, x3, [sp, #32]
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #224
  .cfi_def_cfa_offset 0
  .cfi_restore x29
  .cfi_restore x30
  ldr x17, [x16]
  br x17
  .cfi_endproc
  .size load, . - load

#endif

// In the order of `libraries` in libraries.cpp.
#define LIBRARY_avutil 0
#define LIBRARY_avcodec 1
#define LIBRARY_avformat 2
#define LIBRARY_swscale 3
#define FUNCTION(library, name) function LIBRARY_##library, name
#include "functions.inc"

  .section .note.GNU-stack, "", %progbits
