/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run itself, inside of the guest
 *
 * What menace-run does with --spec, with descriptors of its own for the payload's output, so
 * that messages of ours go to the console and never among it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "runtime/backend/qemu_machine.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/inherit.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/loop.h"
#include "runtime/base/str.h"
#include "runtime/spec/spec.h"
#include "runtime/supervise/run.h"
#include "tools/guest.h"

#define SPEC_MAX (128 << 20)

static void on_signal(struct mr_source *source, uint32_t events)
{
	struct mr_run *run = source->owner;
	struct signalfd_siginfo info;

	(void)events;
	while (read(source->fd, &info, sizeof(info)) == sizeof(info)) {
		int sig = (int)info.ssi_signo;

		if (sig == SIGUSR1 || sig == SIGUSR2)
			mr_run_forward(run, sig);
		else
			mr_run_interrupt(run, sig);
	}
}

static int open_signals(struct mr_error *err)
{
	static const int more[] = { SIGUSR1, SIGUSR2 };

	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return mr_err(err, MR_E_SYS, errno, "signals: %m");
	return mr_signals_open(more, N_ELEMENTS(more), NULL, err);
}

static int read_spec(int fd, struct mr_spec *spec, struct mr_error *err)
{
	mr_auto_free char *path = mr_str_format("/proc/self/fd/%d", fd);
	mr_auto_free char *text = NULL;
	size_t size;
	int r = mr_read_whole_file(path, SPEC_MAX, &text, &size, err);

	if (r == 0)
		r = mr_spec_parse_json(spec, text, size, "errand", err);
	return r < 0 ? r : mr_spec_validate(spec, err);
}

static int write_result(int fd, const json_t *result, struct mr_error *err)
{
	mr_auto_free char *text = json_dumps(result, JSON_COMPACT | JSON_ENSURE_ASCII);
	int r = text ? mr_write_full(fd, text, strlen(text)) : -ENOMEM;

	return r < 0 ? mr_err(err, MR_E_SYS, -r, "write the result: %m") : 0;
}

/* What is not the run's own is not given back: the process ends with it. */
static int drive(struct mr_run_host *host, const struct mr_run_opts *opts, struct mr_run **ret,
		 struct mr_error *err)
{
	const int signals = open_signals(err);
	static struct mr_source source = { .fd = -1 };
	struct mr_run *run;
	int r;

	if (signals < 0)
		return signals;
	run = mr_run_start(host, opts);
	r = mr_loop_add(host->loop, &source, signals, EPOLLIN, on_signal, run, err);
	while (r >= 0 && !mr_run_is_done(run))
		r = mr_loop_run_once(host->loop, -1, err);
	if (r < 0)
		return r;
	mr_run_collect(run, NULL, NULL);
	*ret = run;
	return 0;
}

int mr_guest_run(const struct mr_guest_fds *fds)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_run_opts opts = { .stdin_fd = fds->in,
				    .stdout_fd = fds->out,
				    .stderr_fd = fds->err };
	struct mr_run_host *host;
	struct mr_run *run;
	struct mr_spec spec;
	int r;

	mr_spec_init(&spec);
	opts.spec = &spec;
	r = read_spec(fds->spec, &spec, &err);
	if (r == 0) {
		host = mr_guest_host(&err);
		r = host ? drive(host, &opts, &run, &err) : -EIO;
	}
	if (r == 0)
		r = write_result(fds->result, mr_run_result(run), &err);
	if (r < 0)
		mr_log_error("%s", err.msg);
	return r < 0 ? 1 : 0;
}

/* --- the rehearsal -------------------------------------------------------------------- */

/* The program is one of the two that the initramfs has; without arguments it says how it is used. */
static const char rehearsal[] =
	"{\"schema\":\"menace.spec/1\",\"program\":[\"/" MR_MACHINE_LOADER "\"],"
	"\"mounts\":[{\"type\":\"ro\",\"source\":\"/" MR_MACHINE_LOADER
	"\",\"dest\":\"/" MR_MACHINE_LOADER
	"\"}],\"limits\":{\"wall_ms\":10000},\"sandbox\":{\"backend\":\"native\"}}";

static int rehearse(int null, struct mr_error *err)
{
	struct mr_run_opts opts = { .stdin_fd = null, .stdout_fd = null, .stderr_fd = null };
	struct mr_run_host *host = mr_guest_host(err);
	struct mr_run *run = NULL;
	struct mr_spec spec;
	int r;

	mr_spec_init(&spec);
	opts.spec = &spec;
	r = host ? mr_guest_enter_own_tree(err) : -EIO;
	if (r == 0)
		r = mr_spec_parse_json(&spec, rehearsal, strlen(rehearsal), "rehearsal", err);
	if (r == 0)
		r = mr_spec_validate(&spec, err);
	if (r == 0)
		r = drive(host, &opts, &run, err);
	if (r == 0) {
		mr_auto_json json_t *result = mr_run_result(run);
		mr_auto_free char *text = json_dumps(result, JSON_COMPACT | JSON_ENSURE_ASCII);

		r = text ? 0 : -ENOMEM;
	}
	mr_run_free(run);
	mr_spec_deinit(&spec);
	return r;
}

int mr_guest_rehearse(void)
{
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	return null < 0 || rehearse(null, &err) < 0;
}
