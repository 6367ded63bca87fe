/* What a reply of the daemon to Status with threads says of where it has placed them. Pure. */
#ifndef MILLRACE_DISPATCH_DAEMON_REPLY_H
#define MILLRACE_DISPATCH_DAEMON_REPLY_H

#include "millrace/dispatch/millrace_dispatch.h"

/* Fills in at most `most` threads that it keeps on CPUs; returns how many. Of what is no such reply nothing,
 * or what could be read of it. text: ends with 0. */
int millrace_placed_of_reply(const char* text, millrace_dispatch_placed* placed, int most);

/* promised[cpu]: how much of the CPU is promised to the threads, but for `other` (0: none): the share that
 * each takes, all of one that is not known yet, divided among the CPUs that it is kept on. */
void millrace_promised(const millrace_dispatch_placed* placed, int count, pid_t other, double* promised,
                       int most);

#endif
