/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading and writing descriptors whole
 *
 * Loops around short reads and writes, files of /proc and /sys, and messages
 * that carry descriptors.
 */
#include "runtime/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

ssize_t mr_read_full(int fd, void *buf, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = read(fd, (char *)buf + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

int mr_write_full(int fd, const void *buf, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = write(fd, (const char *)buf + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return 0;
}

ssize_t mr_read_file_at(int dir_fd, const char *path, char *buf, size_t size)
{
	mr_auto_close int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = mr_read_full(fd, buf, size - 1);
	if (n >= 0)
		buf[n] = '\0';
	return n;
}

int mr_read_whole_file(const char *path, size_t max, char **ret, size_t *ret_size,
		       struct mr_error *err)
{
	mr_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	mr_auto_free char *buf = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return mr_err(err, MR_E_USAGE, errno, "open %s: %m", path);
	if (fstat(fd, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "stat %s: %m", path);
	if (!S_ISREG(st.st_mode))
		return mr_err(err, MR_E_USAGE, EINVAL, "%s is not a regular file", path);
	if ((uintmax_t)st.st_size > max)
		return mr_err(err, MR_E_USAGE, EFBIG, "%s has %jd bytes; at most %zu are accepted",
			      path, (intmax_t)st.st_size, max);
	buf = malloc((size_t)st.st_size + 1);
	if (!buf)
		return mr_err(err, MR_E_SYS, ENOMEM, "read %s: %m", path);
	n = mr_read_full(fd, buf, (size_t)st.st_size);
	if (n < 0)
		return mr_err(err, MR_E_SYS, (int)-n, "read %s: %m", path);
	buf[n] = '\0';
	*ret = mr_take_ptr(buf);
	*ret_size = (size_t)n;
	return 0;
}

int mr_write_file_at(int dir_fd, const char *path, const char *text)
{
	mr_auto_close int fd = openat(dir_fd, path, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(text);
	ssize_t n;

	if (fd < 0)
		return -errno;
	do
		n = write(fd, text, len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

int mr_fill_standard_fds(const int flags[3], bool ret_was_closed[3], struct mr_error *err)
{
	for (int fd = 0; fd < 3; fd++) {
		ret_was_closed[fd] = fcntl(fd, F_GETFD) < 0;
		if (ret_was_closed[fd] && open("/dev/null", flags[fd]) != fd)
			return mr_err(err, MR_E_SYS, errno,
				      "descriptor %d is closed and /dev/null cannot stand in: %m",
				      fd);
	}
	return 0;
}

/* Room for the descriptors and the sender's credentials, aligned as the kernel wants. */
union control {
	struct cmsghdr align;
	char buf[CMSG_SPACE(MR_MSG_MAX_FDS * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
};

int mr_send_msg(int sock, const void *buf, size_t size, const int *fds, size_t n_fds)
{
	union control control;
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (n_fds > MR_MSG_MAX_FDS)
		return -E2BIG;
	if (n_fds) {
		struct cmsghdr *c = &control.align;

		memset(&control, 0, sizeof(control));
		msg.msg_control = control.buf;
		msg.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
	}
	do
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -EMSGSIZE;
}

static void take_control(struct cmsghdr *c, int *fds, size_t *n_fds, pid_t *pid)
{
	if (c->cmsg_level != SOL_SOCKET)
		return;
	if (c->cmsg_type == SCM_CREDENTIALS) {
		struct ucred cred;

		memcpy(&cred, CMSG_DATA(c), sizeof(cred));
		*pid = cred.pid;
	}
	if (c->cmsg_type == SCM_RIGHTS) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (*n_fds < MR_MSG_MAX_FDS)
				fds[(*n_fds)++] = fd;
			else
				mr_close(fd);
		}
	}
}

ssize_t mr_recv_msg(int sock, void *buf, size_t size, int flags, int fds[MR_MSG_MAX_FDS],
		    size_t *ret_n_fds, pid_t *ret_pid)
{
	union control control;
	struct iovec iov = { .iov_base = buf, .iov_len = size };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	size_t n_fds = 0;
	pid_t pid = 0;
	ssize_t n;

	do
		n = recvmsg(sock, &msg, flags | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c))
		take_control(c, fds, &n_fds, &pid);
	/* The kernel leaves out, and closes, what there is no number for. */
	if (msg.msg_flags & MSG_CTRUNC) {
		while (n_fds > 0)
			mr_close(fds[--n_fds]);
		*ret_n_fds = 0;
		return -EMFILE;
	}
	*ret_n_fds = n_fds;
	if (ret_pid)
		*ret_pid = pid;
	return n;
}
