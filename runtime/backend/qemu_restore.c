/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restore
 *
 * The guest of a template sees nothing but the kernel and menace-guest: it is not hostile, but what
 * it says is read by the decoder that reads everybody.
 */
#include "runtime/backend/qemu_restore.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/backend/qemu_qmp.h"
#include "runtime/backend/qemu_wire.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/base/wait.h"

int mr_restore(int qmp_fd, uint64_t until_ns, struct mr_error *err)
{
	struct mr_qmp qmp;
	int r = mr_qmp_init(&qmp, qmp_fd, until_ns, err);

	if (r == 0)
		r = mr_qmp_migrate(&qmp, "migrate-incoming", MR_MACHINE_STATE, err);
	if (r == 0)
		r = mr_qmp_do(&qmp, "device_add",
			      json_pack("{s:s, s:s, s:s, s:s}", "driver", "vhost-user-fs-pci",
					"chardev", MR_MACHINE_FILES, "tag", MR_MACHINE_TAG, "bus",
					MR_MACHINE_SLOT),
			      err);
	if (r == 0)
		r = mr_qmp_do(&qmp, "cont", NULL, err);
	mr_qmp_deinit(&qmp);
	return r < 0 ? mr_err_wrap(err, r, "restore the machine") : 0;
}

/* --- making --------------------------------------------------------------------------- */

/* A machine on its way to HELLO. */
struct maker {
	const struct mr_restore_make_opts *opts;
	int console_fd, channel_fd, qmp_fd, log_fd; /* owned */
	pid_t qemu; /* 0: not running */
	struct mr_wire wire;
	struct mr_template *template;
	bool has_said_hello;
	char said[200]; /* QEMU's last words */
};

static int take(void *owner, enum mr_wire_type type, const unsigned char *body, size_t size,
		struct mr_error *err)
{
	struct maker *m = owner;
	const size_t room = sizeof(m->template->release) - 1, n = size - 1 < room ? size - 1 : room;

	if (type == MR_WIRE_FAIL)
		return mr_err(err, MR_E_KERNEL, ENOEXEC, "guest: %.*s", (int)size,
			      (const char *)body);
	if (type != MR_WIRE_HELLO || m->has_said_hello || body[0] != MR_WIRE_VERSION)
		return mr_err(err, MR_E_KERNEL, EPROTO, "the guest does not say HELLO");
	memcpy(m->template->release, body + 1, n);
	m->template->release[n] = '\0';
	m->has_said_hello = true;
	return 0;
}

/* What is said there must not keep it waiting; the beginning of the last piece is kept, on one line. */
static void pass_over(int *fd, char *ret, size_t size)
{
	char piece[4096];
	ssize_t n = read(*fd, piece, sizeof(piece) - 1);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		*fd = mr_close(*fd);
	if (n <= 0)
		return;
	while (n > 0 && (piece[n - 1] == '\n' || piece[n - 1] == '\r'))
		n--;
	piece[n] = '\0';
	mr_str_quote(ret, size, piece);
}

static int read_channel(struct maker *m, struct mr_error *err)
{
	unsigned char piece[1024];
	ssize_t n = recv(m->channel_fd, piece, sizeof(piece), MSG_DONTWAIT);

	if (n > 0)
		return mr_wire_feed(&m->wire, piece, (size_t)n, take, m, err);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	pass_over(&m->log_fd, m->said, sizeof(m->said));
	return mr_err(err, MR_E_KERNEL, EPIPE, "QEMU ended before its guest was up, and said %s",
		      m->said[0] ? m->said : "nothing");
}

static int wait_a_little(struct maker *m, struct mr_error *err)
{
	const uint64_t until = m->opts->until_ns;
	struct pollfd pfds[] = { { m->channel_fd, POLLIN, 0 },
				 { m->console_fd, POLLIN, 0 },
				 { m->log_fd, POLLIN, 0 },
				 { m->opts->abandoned_fd, 0, 0 },
				 { m->opts->signals_fd, POLLIN, 0 } };
	char console[200]; /* nobody's */

	if (mr_now_ns() >= until)
		return mr_err(err, MR_E_KERNEL, ETIMEDOUT, "its guest was not up in time");
	if (mr_clock_poll(pfds, N_ELEMENTS(pfds), until) < 0)
		return errno == EINTR ? 0 : mr_err(err, MR_E_SYS, errno, "poll: %m");
	if (pfds[3].revents || pfds[4].revents)
		return mr_err(err, MR_E_KERNEL, ECANCELED, "the run is to end");
	if (pfds[1].revents)
		pass_over(&m->console_fd, console, sizeof(console));
	if (pfds[2].revents)
		pass_over(&m->log_fd, m->said, sizeof(m->said));
	return pfds[0].revents ? read_channel(m, err) : 0;
}

static int make_pair(int *ret_ours, int *ret_its, struct mr_error *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return mr_err(err, MR_E_SYS, errno, "socketpair: %m");
	*ret_ours = pair[0];
	*ret_its = pair[1];
	return 0;
}

static int start(struct maker *m, struct mr_error *err)
{
	const struct mr_restore_make_opts *o = m->opts;
	mr_auto_close int console = -1, channel = -1, qmp = -1, log = -1;
	int r = make_pair(&m->console_fd, &console, err);

	if (r == 0)
		r = make_pair(&m->channel_fd, &channel, err);
	if (r == 0)
		r = make_pair(&m->qmp_fd, &qmp, err);
	if (r == 0)
		r = make_pair(&m->log_fd, &log, err);
	if (r == 0)
		r = mr_machine_start(&(struct mr_machine_opts){ .accel = o->accel,
								.memory_mib = o->memory_mib,
								.cpus = o->cpus,
								.tsc_khz = o->tsc_khz,
								.probes = MR_TELEMETRY_DEFAULT,
								.console_fd = console,
								.channel_fd = channel,
								.qmp_fd = qmp,
								.files_fd = -1,
								.kernel_fd = o->kernel_fd,
								.initramfs_fd = o->initramfs_fd,
								.log_fd = log,
								.memory_fd = m->template->memory_fd,
								.group = o->group,
								.state_fd = -1 },
				     &m->qemu, err);
	return r;
}

static int take_state(struct maker *m, struct mr_error *err)
{
	struct mr_qmp qmp;
	int r = mr_qmp_init(&qmp, m->qmp_fd, m->opts->until_ns, err);

	if (r == 0)
		r = mr_qmp_do(&qmp, "stop", NULL, err);
	if (r == 0)
		r = mr_qmp_give(&qmp, "state", m->template->state_fd, err);
	if (r == 0)
		r = mr_qmp_migrate(&qmp, "migrate", "fd:state", err);
	mr_qmp_deinit(&qmp);
	return r;
}

static void stop(struct maker *m)
{
	if (m->qemu > 0) {
		kill(m->qemu, SIGKILL);
		mr_wait(m->qemu);
	}
	mr_close(m->console_fd);
	mr_close(m->channel_fd);
	mr_close(m->qmp_fd);
	mr_close(m->log_fd);
}

int mr_restore_make(const struct mr_restore_make_opts *opts, struct mr_template *ret,
		    struct mr_error *err)
{
	struct maker *m = mr_str_alloc(sizeof(*m));
	int r;

	m->opts = opts;
	m->console_fd = m->channel_fd = m->qmp_fd = m->log_fd = -1;
	m->template = ret;
	mr_wire_init(&m->wire, MR_WIRE_GUEST);
	r = start(m, err);
	while (r == 0 && !m->has_said_hello)
		r = wait_a_little(m, err);
	if (r == 0)
		r = take_state(m, err);
	stop(m);
	mr_freep(&m);
	return r;
}
