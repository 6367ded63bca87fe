/* process_masks: processes that the program starts begin with the program's own mask, not with the mask of
 * the thread that starts them. Part of the mask library. */
#pragma once

#include "mask_board.h"

/* Provided by mask_library.c. */
void* millrace_next_function(const char* name); /* the function that this library hides; NULL: none */
int millrace_has_chosen(void);   /* whether the program gave the calling thread a mask, as far as known */
void millrace_become_main(void); /* call in a forked process, whose first thread is the caller */

/* Starts watching. `board` must stay valid as long as the process exists. */
void millrace_watch_processes(struct millrace_mask_board* board);
/* False between vfork() and exec, where the memory belongs to the parent. */
int millrace_in_own_process(void);
/* Returns the mask that a thread had before millrace gave it `mask` (millrace_board_words long); NULL if
 * millrace did not give it. */
const uint64_t* millrace_original_of(const uint64_t* mask);
/* Gives the calling thread the mask that it had before millrace changed it. */
void millrace_put_back(void);
