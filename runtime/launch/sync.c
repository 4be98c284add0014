/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sync
 *
 * Fixed-size messages with descriptors; see sync.h for who says what when.  A
 * message of another size, or with another number of descriptors than its mask
 * says, is a broken protocol and refused.
 */
#include "runtime/launch/sync.h"

#include <errno.h>
#include <sys/socket.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/io.h"

int mr_sync_send(int sock, const struct mr_sync_msg *msg, const int *fds, unsigned int n_fds)
{
	return mr_send_msg(sock, msg, sizeof(*msg), fds, n_fds);
}

int mr_sync_recv(int sock, struct mr_sync_msg *msg, int flags, int fds[8], int *ret_pid,
		 struct mr_error *err)
{
	int got[MR_MSG_MAX_FDS];
	size_t n_got = 0, used = 0;
	pid_t pid = 0;
	ssize_t n;

	for (int i = 0; i < 8; i++)
		fds[i] = -1;
	n = mr_recv_msg(sock, msg, sizeof(*msg), flags, got, &n_got, &pid);
	/* A peer that went with something of ours unread: told once, and before what it had sent. */
	if (n == -ECONNRESET)
		n = mr_recv_msg(sock, msg, sizeof(*msg), flags, got, &n_got, &pid);
	if (n == -EAGAIN || n == -EWOULDBLOCK)
		return -EAGAIN;
	if (n == 0 || n == -ECONNRESET)
		return 0;
	if (n < 0)
		return mr_err(err, MR_E_SYS, (int)-n, "receive from the sandbox: %m");
	for (int i = 0; i < 8; i++) {
		if ((msg->fds & (1U << i)) && used < n_got)
			fds[i] = got[used++];
	}
	while (used < n_got)
		mr_close(got[used++]);
	if (n != sizeof(*msg) || n_got != (size_t)__builtin_popcount(msg->fds))
		return mr_err(err, MR_E_PROTO, EPROTO,
			      "message of %zd bytes with %zu descriptors from the sandbox", n,
			      n_got);
	if (ret_pid)
		*ret_pid = pid;
	return 1;
}
