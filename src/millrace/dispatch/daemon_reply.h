/* Parses the daemon's reply to Status with threads: where the daemon has placed them. Pure. */
#ifndef MILLRACE_DISPATCH_DAEMON_REPLY_H
#define MILLRACE_DISPATCH_DAEMON_REPLY_H

#include "millrace/dispatch/millrace_dispatch.h"

/* Fills in at most `most` of the threads that the daemon keeps on CPUs, and returns how many. Malformed text
 * yields nothing, or the part before the error. text: null-terminated. */
int millrace_placed_of_reply(const char* text, millrace_dispatch_placed* placed, int most);

/* Fills in promised[cpu], the share of the CPU that is promised to threads other than `other` (0: all count).
 * Each thread's share is divided evenly among the CPUs of its mask; an unknown share counts as 1. */
void millrace_promised(const millrace_dispatch_placed* placed, int count, pid_t other, double* promised,
                       int most);

#endif
