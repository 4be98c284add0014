/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace-run: run untrusted code in a sandbox
 *
 *   main
 *     mr_cli_parse          the command line becomes a spec (tools/cli.c, runtime/spec)
 *     mr_run_host_open      loop, control groups, leases; sweep of crashed runs
 *     mr_single_main        one run:   runtime/supervise/run.c drives it
 *       mr_launch_start       clone3 and the steps of runtime/launch/child.c
 *     mr_batch_main         many runs, one spec a line
 *     mr_dry_run_main       no run: what would be done
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cgroups/cgroup.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/die_at.h"
#include "runtime/base/error.h"
#include "runtime/base/inherit.h"
#include "runtime/base/io.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"
#include "tools/result_file.h"
#include "tools/session.h"
#include "tools/subruns.h"

#define SNIPPET_MAX (16 * 1024 * 1024)

int mr_session_fail(const struct mr_error *err)
{
	mr_log_error("%s", err->msg);
	return mr_errc_exit_status(err->code);
}

int mr_session_signals(struct mr_error *err)
{
	static const int more[] = { SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH, SIGURG };
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTTIN); /* reading a terminal from behind is an error then, no stop */
	/* A closed pipe and a file that may not grow (ulimit -f) are errors of the write that met
	 * them, not the end of us and of all other runs. */
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || signal(SIGXFSZ, SIG_IGN) == SIG_ERR ||
	    sigprocmask(SIG_BLOCK, &blocked, NULL) < 0)
		return mr_err(err, MR_E_SYS, errno, "signals: %m");
	return mr_signals_open(more, N_ELEMENTS(more), NULL, err);
}

static bool was_closed[3];

bool mr_session_was_closed(int fd)
{
	return fd >= 0 && fd < 3 && was_closed[fd];
}

/* By now numbers that were closed are in use by us: all of ours are closed on exec, and what is inherited
 * never is. */
int mr_session_check_fd(const char *what, uint64_t fd, bool writes, struct mr_error *err)
{
	int flags = fd > INT_MAX ? -1 : fcntl((int)fd, F_GETFD);

	if (flags < 0 || (flags & FD_CLOEXEC) || mr_session_was_closed((int)fd))
		return mr_err(err, MR_E_USAGE, EBADF, "%s: that descriptor is not open", what);
	flags = fcntl((int)fd, F_GETFL);
	if (flags < 0 || (flags & O_PATH) || (flags & O_ACCMODE) == (writes ? O_RDONLY : O_WRONLY))
		return mr_err(err, MR_E_USAGE, EBADF, "%s: that descriptor is not open for %s",
			      what, writes ? "writing" : "reading");
	return 0;
}

int mr_session_flush(const char *what, bool written, struct mr_error *err)
{
	if (mr_session_was_closed(STDOUT_FILENO))
		errno = EBADF;
	else if (written && fflush(stdout) == 0)
		return 0;
	return mr_err(err, MR_E_SYS, errno, "%s: write to standard output: %m", what);
}

/* Rights that the caller does not have would have to be guarded at every path and file. */
static int refuse_borrowed_rights(struct mr_error *err)
{
	if (geteuid() == getuid() && getegid() == getgid() && !getauxval(AT_SECURE))
		return 0;
	return mr_err(err, MR_E_DENIED, EPERM,
		      "refusing to run set-user-ID or with file capabilities; start as root, or as "
		      "an "
		      "ordinary user with plain rights");
}

static int read_snippet(struct mr_cli *cli, struct mr_error *err)
{
	char *text = malloc(SNIPPET_MAX + 1);
	ssize_t n;

	if (!text)
		return mr_err(err, MR_E_SYS, ENOMEM, "snippet on standard input: %m");
	n = mr_read_full(STDIN_FILENO, text, SNIPPET_MAX + 1);
	if (n < 0 || n > SNIPPET_MAX) {
		free(text);
		return n < 0 ? mr_err(err, MR_E_SYS, (int)-n, "snippet on standard input: %m")
			     : mr_err(err, MR_E_USAGE, EFBIG,
				      "snippet on standard input: more than %d bytes", SNIPPET_MAX);
	}
	cli->spec.snippet_code = text;
	cli->spec.snippet_code_size = (size_t)n;
	return mr_spec_validate(&cli->spec, err);
}

static int print_help(void)
{
	struct mr_error err = MR_ERROR_INIT;
	char buf[MR_CLI_HELP_SIZE];
	struct mr_str text;

	mr_str_init(&text, buf, sizeof(buf));
	mr_cli_help(&text);
	return mr_session_flush("--help", fputs(buf, stdout) >= 0, &err) < 0 ? mr_session_fail(&err)
									     : 0;
}

static int print_version(void)
{
	struct mr_error err = MR_ERROR_INIT;
	bool written = printf("menace-run %s\n", MENACE_VERSION) >= 0;

	return mr_session_flush("--version", written, &err) < 0 ? mr_session_fail(&err) : 0;
}

/* Specs that are not there, or results that go nowhere, must not look like a batch that went well. */
static int refuse_closed_batch(struct mr_error *err)
{
	if (mr_session_was_closed(STDIN_FILENO))
		return mr_err(err, MR_E_USAGE, EBADF,
			      "--batch: standard input is closed; it has "
			      "the specs, one a line");
	if (mr_session_was_closed(STDOUT_FILENO))
		return mr_err(err, MR_E_USAGE, EBADF,
			      "--batch: standard output is closed; it gets "
			      "the results, one a line");
	return 0;
}

static int check_ready_fd(const char *option, int fd, bool writes, struct mr_error *err)
{
	mr_auto_free char *what = mr_str_format("--%s %d", option, fd);

	return fd < 0 ? 0 : mr_session_check_fd(what, (uint64_t)fd, writes, err);
}

static int check_ready_fds(const struct mr_ready_fds *fds, struct mr_error *err)
{
	int r = check_ready_fd("ready-fd", fds->ready_fd, true, err);

	return r < 0 ? r : check_ready_fd("block-fd", fds->block_fd, false, err);
}

static int run(struct mr_cli *cli)
{
	struct mr_error err = MR_ERROR_INIT;
	mr_cleanup(mr_result_file_deinit) struct mr_result_file file = MR_RESULT_FILE_INIT;
	struct mr_run_host host;
	int status, r;

	/* First of all, so that no failure behind it leaves an old result. */
	if (!cli->batch && !cli->dry_run && mr_result_file_open(cli, &file, &err) < 0)
		return mr_session_fail(&err);
	if ((cli->snippet_from_stdin && read_snippet(cli, &err) < 0) ||
	    (cli->batch && refuse_closed_batch(&err) < 0) || check_ready_fds(&cli->ready, &err) < 0)
		return mr_session_fail(&err);
	if (mr_run_host_open(&host, &err) < 0)
		return mr_session_fail(&err);
	host.subruns = &mr_subruns;
	r = cli->cgroup_parent ? mr_cgroup_host_below(host.cgroups, cli->cgroup_parent, &err) : 0;
	if (r < 0) {
		mr_err_wrap(&err, r, "--cgroup-parent");
		status = mr_session_fail(&err);
	} else if (cli->dry_run) {
		status = mr_dry_run_main(&host, cli);
	} else if (cli->batch) {
		status = mr_batch_main(&host, cli);
	} else {
		status = mr_single_main(&host, cli, &file);
	}
	mr_run_host_close(&host);
	return status;
}

static enum mr_log_level log_level(int verbosity)
{
	int level = MR_LOG_NOTICE + verbosity;

	return level < MR_LOG_ERROR   ? MR_LOG_ERROR
	       : level > MR_LOG_DEBUG ? MR_LOG_DEBUG
				      : (enum mr_log_level)level;
}

/* Pages given back after a run would be faulted in again for the next one. */
static void keep_heap(void)
{
	mallopt(M_TRIM_THRESHOLD, 64 * 1024 * 1024);
	mallopt(M_MMAP_THRESHOLD, 1024 * 1024);
}

int main(int argc, char **argv)
{
	static const int stand_ins[] = { O_RDONLY, O_WRONLY, O_WRONLY };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_cli cli;
	int status;

#ifdef MENACE_TEST_BUILD
	if (mr_die_at_list())
		return 0;
#endif
	keep_heap();
	mr_log_init("menace-run", MR_LOG_NOTICE, MR_LOG_TEXT);
	if (mr_inherit_settle(&err) < 0 || mr_fill_standard_fds(stand_ins, was_closed, &err) < 0 ||
	    refuse_borrowed_rights(&err) < 0 || mr_cli_parse(argc, argv, &cli, &err) < 0)
		return mr_session_fail(&err);
	mr_log_init("menace-run", log_level(cli.verbosity), cli.log_format);
	for (size_t i = 0; i < cli.warnings.n; i++)
		mr_log_warn("%s", cli.warnings.v[i]);
	if (cli.help)
		status = print_help();
	else if (cli.version)
		status = print_version();
	else
		status = run(&cli);
	mr_cli_deinit(&cli);
	return status;
}
