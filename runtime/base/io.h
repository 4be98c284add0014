/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading and writing descriptors whole
 *
 * All calls retry EINTR.  The message calls work on SOCK_SEQPACKET pairs, where
 * one send is one receive, and carry descriptors beside the bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct mr_error;

/* Up to size bytes until end of file; count, or negative errno. */
ssize_t mr_read_full(int fd, void *buf, size_t size);
/* All of it or a negative errno. */
int mr_write_full(int fd, const void *buf, size_t size);
/* The beginning of a (small, virtual) file as a NUL-terminated string; length, or negative errno. */
ssize_t mr_read_file_at(int dir_fd, const char *path, char *buf, size_t size);
/* A whole regular file up to max bytes, malloc'd with a NUL after it; MR_E_USAGE when larger. */
int mr_read_whole_file(const char *path, size_t max, char **ret, size_t *ret_size,
		       struct mr_error *err);
/* Write text to an existing (virtual) file in one write. */
int mr_write_file_at(int dir_fd, const char *path, const char *text);

/* First thing of a program: where 0, 1 or 2 is closed the next open would take it, and who means the
 * stream would then read or write that.  /dev/null stands there instead, opened with flags[fd];
 * ret_was_closed tells where. */
int mr_fill_standard_fds(const int flags[3], bool ret_was_closed[3], struct mr_error *err);

#define MR_MSG_MAX_FDS 8
/* Send one message with n_fds descriptors. 0 or negative errno; never raises SIGPIPE. */
int mr_send_msg(int sock, const void *buf, size_t size, const int *fds, size_t n_fds);
/* Receive one message: its size, 0 at end of file, negative errno.  fds gets close-on-exec
 * descriptors, *ret_n_fds their number (surplus ones are closed); *ret_pid (may be NULL) the
 * sender's pid when SO_PASSCRED is set, else 0.  flags as recvmsg's. */
ssize_t mr_recv_msg(int sock, void *buf, size_t size, int flags, int fds[MR_MSG_MAX_FDS],
		    size_t *ret_n_fds, pid_t *ret_pid);
