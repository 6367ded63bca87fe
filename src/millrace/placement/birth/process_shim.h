/* process_shim: what a program starts begins with the mask that the program was given, not with that of the
 * thread which starts it. A part of the birth shim. */
#pragma once

#include "birth_board.h"

/* By birth_shim.c. */
void* millrace_next_function(const char* name); /* that which a function of this library hides; NULL: none */
int millrace_has_chosen(void); /* whether the program has given the calling thread a mask, as far as known */
void millrace_become_main(void); /* in a process that was forked, which begins with the calling thread */

/* From now on; `board` is there for as long as the process is. */
void millrace_watch_processes(struct millrace_birth_board* board);
/* Not so between vfork() and exec, where the memory is the maker's. */
int millrace_in_own_process(void);
/* What a thread had before millrace gave it `mask`, of millrace_board_words; NULL: millrace did not. */
const uint64_t* millrace_original_of(const uint64_t* mask);
/* Gives the calling thread what it had before millrace gave it what it has. */
void millrace_put_back(void);
