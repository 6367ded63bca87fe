/* The functions of UDispatch and UDispatch+, for programs written against them. The descriptor of their
 * device becomes a number that identifies a millrace_dispatch within the process. */
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

/* Replaces open("/dev/udispatch"). At most 16 can be open; -1 with errno if no more can be opened. */
MILLRACE_DISPATCH_EXPORT int udispatch_open(void);
MILLRACE_DISPATCH_EXPORT void udispatch_close(int fd);

/* Returns 0, or -1 with errno: EBADF if udispatch_open() did not return fd. */
MILLRACE_DISPATCH_EXPORT int bind_to_cpu(int fd, pid_t pid, int cpu);
MILLRACE_DISPATCH_EXPORT int find_least_load_core(void);
MILLRACE_DISPATCH_EXPORT int get_nr_threads(int fd, pid_t pid);
/* Fills in slave threads only, in order of birth. get_nr_threads() counts the same threads. */
MILLRACE_DISPATCH_EXPORT int get_pids_on_task(int fd, pid_t* pids, int count, pid_t pid);
/* Chooses the process for enable_UDPlus_switch(): the forked application. */
MILLRACE_DISPATCH_EXPORT int set_UDPlus_pids(int fd, pid_t own, pid_t application);
MILLRACE_DISPATCH_EXPORT int enable_UDPlus_switch(int fd);
MILLRACE_DISPATCH_EXPORT int disable_UDPlus_switch(int fd);
MILLRACE_DISPATCH_EXPORT int wait_app_done(pid_t application);

#ifdef __cplusplus
}
#endif
#endif
