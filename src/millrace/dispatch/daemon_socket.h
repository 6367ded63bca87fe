/* Queries the daemon of the user, or the system's daemon, over its socket. */
#ifndef MILLRACE_DISPATCH_DAEMON_SOCKET_H
#define MILLRACE_DISPATCH_DAEMON_SOCKET_H

/* Time on CLOCK_MONOTONIC. */
long long millrace_now_ns(void);

/* Sends a line, which ends with a newline, and returns the reply. Returns NULL if there is no daemon, if it
 * belongs to a user other than root and the caller, or if it has not answered by until_ns. The reply is
 * null-terminated; the caller frees it. */
char* millrace_ask_daemon(const char* line, long long until_ns);

#endif
