/* Asks the daemon of the user, else that of the system, over its socket. */
#ifndef MILLRACE_DISPATCH_DAEMON_SOCKET_H
#define MILLRACE_DISPATCH_DAEMON_SOCKET_H

/* CLOCK_MONOTONIC. */
long long millrace_now_ns(void);

/* The answer to a line that ends with a newline, or NULL where there is no daemon, where it belongs to
 * another user than root and the caller, and where it has not answered by then. To be freed; ends with 0. */
char* millrace_ask_daemon(const char* line, long long until_ns);

#endif
