/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relay of the guest
 *
 * Frames from menace-qemu make it ready, then bytes go between the port and the pipes of
 * the run.  What comes out is read only when what came before it has left, and input is asked
 * for only when there is room: nothing is kept beyond a frame each way.  As process 1 it also
 * takes the ends of whatever the run leaves.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/backend/qemu_wire.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/sibling.h"
#include "runtime/base/str.h"
#include "tools/guest.h"

#define STREAMS 3 /* the run's output, error output, result */
#define QUEUE (2 * (MR_WIRE_HEAD + MR_WIRE_BODY_MAX))

static const enum mr_wire_type stream_types[STREAMS] = { MR_WIRE_OUT, MR_WIRE_ERR, MR_WIRE_RESULT };

struct relay {
	int port;
	struct mr_wire wire;
	unsigned char queue[QUEUE]; /* for the port */
	size_t queue_at, queue_end;
	char *share, *bin_dir; /* of SETUP */
	int spec; /* memfd */
	pid_t child;
	int child_fd; /* pidfd; -1: not running */
	int streams[STREAMS]; /* reading ends; -1: ended */
	int input; /* writing end of the run's standard input; -1: closed */
	unsigned char waiting[MR_WIRE_BODY_MAX]; /* input on its way */
	size_t waiting_at, waiting_end;
	bool input_over; /* nothing comes after what waits */
	bool over; /* END or FAIL is in the queue */
};

/* The callers see to it that there is room. */
static void put_frame(struct relay *r, enum mr_wire_type type, const void *body, size_t size)
{
	mr_assert(QUEUE - r->queue_end >= MR_WIRE_HEAD + size);
	mr_wire_head(r->queue + r->queue_end, type, size);
	if (size > 0)
		memcpy(r->queue + r->queue_end + MR_WIRE_HEAD, body, size);
	r->queue_end += MR_WIRE_HEAD + size;
}

static void fail(struct relay *r, const struct mr_error *why)
{
	const size_t n = strlen(why->msg);

	put_frame(r, MR_WIRE_FAIL, why->msg, n < 500 ? n : 500);
	r->over = true;
}

/* --- being made ready ----------------------------------------------------------------- */

static int take_setup(struct relay *r, const unsigned char *body, size_t size, struct mr_error *err)
{
	mr_auto_json json_t *setup = NULL;
	const char *share, *bin_dir;
	json_int_t time_ns;
	struct timespec now;
	int result = mr_json_parse((const char *)body, size, "setup", &setup, err);

	if (result < 0)
		return result;
	if (json_unpack(setup, "{s:s, s:s, s:I}", "share", &share, "bin_dir", &bin_dir, "time_ns",
			&time_ns) < 0)
		return mr_err(err, MR_E_PROTO, EPROTO, "the setup lacks something");
	now = (struct timespec){ time_ns / 1000000000, time_ns % 1000000000 };
	if (clock_settime(CLOCK_REALTIME, &now) < 0)
		return mr_err(err, MR_E_SYS, errno, "set the clock: %m");
	free(r->share);
	free(r->bin_dir);
	r->share = mr_str_dup(share);
	r->bin_dir = mr_str_dup(bin_dir);
	return 0;
}

static int take_entropy(const unsigned char *body, size_t size, struct mr_error *err)
{
	mr_auto_close int fd = open("/dev/urandom", O_RDWR | O_CLOEXEC);
	_Alignas(struct rand_pool_info) unsigned char space[sizeof(struct rand_pool_info) + 256];
	struct rand_pool_info *pool = (struct rand_pool_info *)(void *)space;

	mr_assert(size <= 256);
	pool->entropy_count = (int)size * 8;
	pool->buf_size = (int)size;
	memcpy(pool->buf, body, size);
	if (fd < 0 || ioctl(fd, RNDADDENTROPY, pool) < 0 || ioctl(fd, RNDRESEEDCRNG, 0) < 0)
		return mr_err(err, MR_E_SYS, errno, "take entropy: %m");
	return 0;
}

static int take_spec(struct relay *r, const unsigned char *body, size_t size, struct mr_error *err)
{
	int result = mr_write_full(r->spec, body, size);

	return result < 0 ? mr_err(err, MR_E_SYS, -result, "keep the spec: %m") : 0;
}

/* --- the run -------------------------------------------------------------------------- */

/* Our end does not block. */
static int make_pipe(bool we_write, int *ret_ours, int *ret_its, struct mr_error *err)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return mr_err(err, MR_E_SYS, errno, "pipe of the program: %m");
	*ret_ours = fds[we_write];
	*ret_its = fds[!we_write];
	if (fcntl(*ret_ours, F_SETFL, O_NONBLOCK) < 0)
		return mr_err(err, MR_E_SYS, errno, "pipe of the program: %m");
	return 0;
}

/* From here on another process: it is the run's, and has nothing of the port. */
__attribute__((noreturn)) static void become_run(struct relay *r, const struct mr_guest_fds *fds)
{
	mr_close(r->port);
	mr_close(r->input);
	for (size_t i = 0; i < STREAMS; i++)
		mr_close(r->streams[i]);
	mr_sibling_look_in(r->bin_dir);
	if (clearenv() < 0 ||
	    setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1) < 0 ||
	    setenv("HOME", "/root", 1) < 0)
		_exit(1);
	_exit(mr_guest_run(fds));
}

static int spawn(struct relay *r, const int given[4], struct mr_error *err)
{
	const struct mr_guest_fds fds = { .spec = r->spec,
					  .in = given[0],
					  .out = given[1],
					  .err = given[2],
					  .result = given[3] };

	r->child = fork();
	if (r->child == 0)
		become_run(r, &fds);
	return r->child < 0 ? mr_err(err, MR_E_SYS, errno, "start the run: %m") : 0;
}

static int start_run(struct relay *r, struct mr_error *err)
{
	int given[4] = { -1, -1, -1, -1 };
	int result;

	if (!r->share || r->child_fd >= 0)
		return mr_err(err, MR_E_PROTO, EPROTO, "started before setup, or twice");
	result = mr_guest_enter_tree(r->share, err);
	if (result == 0)
		result = make_pipe(true, &r->input, &given[0], err);
	for (size_t i = 0; result == 0 && i < STREAMS; i++)
		result = make_pipe(false, &r->streams[i], &given[i + 1], err);
	if (result == 0)
		result = spawn(r, given, err);
	for (size_t i = 0; i < N_ELEMENTS(given); i++)
		mr_close(given[i]);
	if (result < 0)
		return result;
	r->child_fd = mr_pidfd_open(r->child, 0);
	if (r->child_fd < 0)
		return mr_err(err, MR_E_SYS, errno, "pidfd: %m");
	put_frame(r, MR_WIRE_STARTED, NULL, 0);
	put_frame(r, MR_WIRE_WANT, NULL, 0);
	return 0;
}

static int take(void *owner, enum mr_wire_type type, const unsigned char *body, size_t size,
		struct mr_error *err)
{
	struct relay *r = owner;

	switch (type) {
	case MR_WIRE_SETUP:
		return take_setup(r, body, size, err);
	case MR_WIRE_ENTROPY:
		return take_entropy(body, size, err);
	case MR_WIRE_SPEC:
		return take_spec(r, body, size, err);
	case MR_WIRE_START:
		return start_run(r, err);
	case MR_WIRE_INPUT:
		if (r->waiting_end > 0 || r->input_over)
			return mr_err(err, MR_E_PROTO, EPROTO, "input that nobody asked for");
		memcpy(r->waiting, body, size);
		r->waiting_end = size;
		return 0;
	case MR_WIRE_INPUT_END:
		r->input_over = true;
		return 0;
	case MR_WIRE_SIGNAL:
		if (r->child_fd >= 0)
			mr_pidfd_send_signal(r->child_fd, body[0]);
		return 0;
	case MR_WIRE_HELLO:
	case MR_WIRE_STARTED:
	case MR_WIRE_WANT:
	case MR_WIRE_OUT:
	case MR_WIRE_ERR:
	case MR_WIRE_RESULT:
	case MR_WIRE_FAIL:
	case MR_WIRE_END:
		break;
	}
	return mr_err(err, MR_E_BUG, EPROTO, "a frame of ours came in");
}

/* --- bytes ---------------------------------------------------------------------------- */

static int read_port(struct relay *r, struct mr_error *err)
{
	unsigned char buf[16384];
	ssize_t n = read(r->port, buf, sizeof(buf));

	if (n > 0)
		return mr_wire_feed(&r->wire, buf, (size_t)n, take, r, err);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return mr_err(err, MR_E_PROTO, EPIPE, "menace-qemu is gone");
}

static int write_port(struct relay *r, struct mr_error *err)
{
	ssize_t n = write(r->port, r->queue + r->queue_at, r->queue_end - r->queue_at);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR
			       ? 0
			       : mr_err(err, MR_E_SYS, errno, "write to the port: %m");
	r->queue_at += (size_t)n;
	if (r->queue_at == r->queue_end)
		r->queue_at = r->queue_end = 0;
	return 0;
}

static void read_stream(struct relay *r, size_t i)
{
	unsigned char buf[MR_WIRE_BODY_MAX / 2];
	ssize_t n = read(r->streams[i], buf, sizeof(buf));

	if (n > 0)
		put_frame(r, stream_types[i], buf, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		r->streams[i] = mr_close(r->streams[i]);
}

/* A payload that closed its input wants nothing more of it. */
static void write_input(struct relay *r)
{
	ssize_t n = write(r->input, r->waiting + r->waiting_at, r->waiting_end - r->waiting_at);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		r->input = mr_close(r->input);
		return;
	}
	r->waiting_at += (size_t)n;
	if (r->waiting_at < r->waiting_end)
		return;
	r->waiting_at = r->waiting_end = 0;
	if (!r->input_over)
		put_frame(r, MR_WIRE_WANT, NULL, 0);
}

/* The run's own end, and those of orphans. */
static void take_ends(struct relay *r)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == r->child)
			r->child_fd = mr_close(r->child_fd);
	if (pid < 0 && errno == ECHILD && r->child > 0) /* gone, however it ended */
		r->child_fd = mr_close(r->child_fd);
}

static bool is_over(const struct relay *r)
{
	for (size_t i = 0; i < STREAMS; i++)
		if (r->streams[i] >= 0)
			return false;
	return r->child > 0 && r->child_fd < 0;
}

static void look_around(struct relay *r, struct pollfd pfds[3 + STREAMS])
{
	const bool idle = r->queue_end == 0 && !r->over;
	const bool feeding = r->input >= 0 && r->waiting_end > 0;

	if (r->input >= 0 && !feeding && r->input_over)
		r->input = mr_close(r->input);
	pfds[0] = (struct pollfd){ r->port, POLLIN, 0 };
	if (r->queue_end > 0)
		pfds[0].events |= POLLOUT;
	pfds[1] = (struct pollfd){ r->child_fd, POLLIN, 0 };
	pfds[2] = (struct pollfd){ feeding && idle ? r->input : -1, POLLOUT, 0 };
	for (size_t i = 0; i < STREAMS; i++)
		pfds[3 + i] = (struct pollfd){ idle ? r->streams[i] : -1, POLLIN, 0 };
}

static int turn(struct relay *r, struct mr_error *err)
{
	struct pollfd pfds[3 + STREAMS];
	int result = 0;

	look_around(r, pfds);
	if (poll(pfds, N_ELEMENTS(pfds), -1) < 0)
		return errno == EINTR ? 0 : mr_err(err, MR_E_SYS, errno, "poll: %m");
	if (pfds[0].revents & POLLOUT)
		result = write_port(r, err);
	if (result == 0 && pfds[0].revents & (POLLIN | POLLHUP | POLLERR))
		result = read_port(r, err);
	if (pfds[1].revents)
		take_ends(r);
	if (pfds[2].revents && r->input >= 0)
		write_input(r);
	for (size_t i = 0; i < STREAMS; i++)
		if (pfds[3 + i].revents && r->queue_end == 0)
			read_stream(r, i);
	return result;
}

/* Then menace-qemu ends the machine, who may wait for a reader before he takes the last of it: what is
 * on its way would be lost if time did.  He takes the machine with him when he goes. */
static void flush_port(struct relay *r, struct mr_error *err)
{
	struct pollfd pfd = { r->port, POLLOUT, 0 };

	while (r->queue_end > 0 && poll(&pfd, 1, -1) > 0)
		if (write_port(r, err) < 0)
			return;
	pfd.events = 0;
	poll(&pfd, 1, -1);
}

static void say_hello(struct relay *r)
{
	char text[120] = { MR_WIRE_VERSION };
	ssize_t n =
		mr_read_file_at(AT_FDCWD, "/proc/sys/kernel/osrelease", text + 1, sizeof(text) - 1);

	put_frame(r, MR_WIRE_HELLO, text, n > 0 ? 1 + strcspn(text + 1, "\n") : 2);
}

void mr_guest_serve(int port)
{
	struct relay *r = mr_str_alloc(sizeof(*r));
	struct mr_error err = MR_ERROR_INIT;

	r->port = port;
	r->child_fd = r->input = -1;
	for (size_t i = 0; i < STREAMS; i++)
		r->streams[i] = -1;
	mr_wire_init(&r->wire, MR_WIRE_HOST);
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR ||
	    (r->spec = memfd_create("spec", MFD_CLOEXEC)) < 0)
		mr_log_error("memfd: %m");
	say_hello(r);
	while (!r->over) {
		if (turn(r, &err) < 0) {
			mr_log_error("%s", err.msg);
			r->queue_at = r->queue_end = 0;
			fail(r, &err);
		} else if (r->queue_end == 0 && is_over(r)) {
			put_frame(r, MR_WIRE_END, NULL, 0);
			r->over = true;
		}
	}
	flush_port(r, &err);
}
