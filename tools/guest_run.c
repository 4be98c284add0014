/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run itself, inside of the guest
 *
 * What menace-run does with --spec, with descriptors of its own for the payload's output, so
 * that messages of ours go to the console and never among it.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/loop.h"
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
	static const int taken[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
	sigset_t set;
	int fd;

	sigemptyset(&set);
	for (size_t i = 0; i < N_ELEMENTS(taken); i++)
		sigaddset(&set, taken[i]);
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return mr_err(err, MR_E_SYS, errno, "signals: %m");
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? mr_err(err, MR_E_SYS, errno, "signalfd: %m") : fd;
}

static int read_spec(struct mr_spec *spec, struct mr_error *err)
{
	mr_auto_free char *text = NULL;
	size_t size;
	int r = mr_read_whole_file("/proc/self/fd/3", SPEC_MAX, &text, &size, err);

	if (r == 0)
		r = mr_spec_parse_json(spec, text, size, "errand", err);
	return r < 0 ? r : mr_spec_validate(spec, err);
}

static int write_result(json_t *result, struct mr_error *err)
{
	mr_auto_free char *text = json_dumps(result, JSON_COMPACT | JSON_ENSURE_ASCII);
	int r = text ? mr_write_full(MR_GUEST_FD_RESULT, text, strlen(text)) : -ENOMEM;

	return r < 0 ? mr_err(err, MR_E_SYS, -r, "write the result: %m") : 0;
}

static int drive(struct mr_run_host *host, struct mr_run *run, int signals, struct mr_error *err)
{
	mr_auto_json json_t *result = NULL;
	struct mr_source source = { .fd = -1 };
	int r = mr_loop_add(host->loop, &source, signals, EPOLLIN, on_signal, run, err);

	while (r >= 0 && !mr_run_is_done(run))
		r = mr_loop_run_once(host->loop, -1, err);
	mr_loop_remove(host->loop, &source);
	if (r < 0)
		return r;
	mr_run_collect(run, NULL, NULL);
	result = mr_run_result(run);
	return write_result(result, err);
}

static int do_run(const struct mr_spec *spec, struct mr_error *err)
{
	const struct mr_run_opts opts = { .spec = spec,
					  .stdin_fd = STDIN_FILENO,
					  .stdout_fd = STDOUT_FILENO,
					  .stderr_fd = MR_GUEST_FD_STDERR };
	mr_auto_close int signals = -1;
	struct mr_run_host host;
	struct mr_run *run;
	int r = mr_run_host_open(&host, err);

	if (r < 0)
		return r;
	r = signals = open_signals(err);
	if (r >= 0) {
		run = mr_run_start(&host, &opts);
		r = drive(&host, run, signals, err);
		mr_run_free(run);
	}
	mr_run_host_close(&host);
	return r;
}

int mr_guest_run(void)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec spec;
	int r;

	mr_spec_init(&spec);
	r = read_spec(&spec, &err);
	if (r == 0)
		r = do_run(&spec, &err);
	mr_spec_deinit(&spec);
	if (r < 0)
		mr_log_error("%s", err.msg);
	return r < 0 ? 1 : 0;
}
