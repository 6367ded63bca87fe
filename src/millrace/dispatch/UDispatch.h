/* The names and arguments of UDispatch and UDispatch+, for programs that were written for them: what they
 * call the descriptor of their device is a number here that names a millrace_dispatch of the process. */
#ifndef UDISPATCH_H
#define UDISPATCH_H

#include "millrace_dispatch.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/types.h>
#include <sys/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Instead of open("/dev/udispatch"): -1 with errno where there is none left; of 16. */
MILLRACE_DISPATCH_EXPORT int udispatch_open(void);
MILLRACE_DISPATCH_EXPORT void udispatch_close(int fd);

/* 0; -1 with errno, also EBADF for an fd that udispatch_open() did not return. */
MILLRACE_DISPATCH_EXPORT int bind_to_cpu(int fd, pid_t pid, int cpu);
MILLRACE_DISPATCH_EXPORT int find_least_load_core(void);
MILLRACE_DISPATCH_EXPORT int get_nr_threads(int fd, pid_t pid);
/* pids: slave threads only, in order of birth, as get_nr_threads() counts them. */
MILLRACE_DISPATCH_EXPORT int get_pids_on_task(int fd, pid_t* pids, int count, pid_t pid);
/* Which process enable_UDPlus_switch() is about: the one that was forked. */
MILLRACE_DISPATCH_EXPORT int set_UDPlus_pids(int fd, pid_t own, pid_t application);
MILLRACE_DISPATCH_EXPORT int enable_UDPlus_switch(int fd);
MILLRACE_DISPATCH_EXPORT int disable_UDPlus_switch(int fd);
MILLRACE_DISPATCH_EXPORT int wait_app_done(pid_t application);

#ifdef __cplusplus
}
#endif
#endif
