/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox's init
 *
 * Pid 1 of the sandbox: forks the payload, reaps whatever is handed to it,
 * forwards signals the supervisor asks for and reports the main process's end.  When the
 * supervisor dies it sees end of file and exits; the kernel then kills everything
 * in the pid namespace.  It is not dumpable, holds no descriptor but the sync
 * socket, and /proc hides it, so the payload, though of the same user, cannot reach it.
 *
 * The payload's own last steps are the second table here: they confine it and end
 * in exec.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/compat.h"
#include "runtime/base/die_at.h"
#include "runtime/base/error.h"
#include "runtime/launch/seccomp.h"
#include "runtime/launch/steps.h"
#include "runtime/spec/spec.h"

#define REAP_BATCH 64

_Noreturn static void fail(struct mr_child *c, const struct mr_error *err)
{
	struct mr_sync_msg msg = { .type = MR_SYNC_FAILED, .error = *err };

	mr_sync_send(c->sync_fd, &msg, NULL, 0);
	_exit(125);
}

static int begin_session(struct mr_child *c, struct mr_error *err)
{
	(void)c;
	return setsid() < 0 ? mr_err(err, MR_E_SYS, errno, "setsid: %m") : 0;
}

static int attach_streams(struct mr_child *c, struct mr_error *err)
{
	return c->spec->sandbox_tty ? mr_stdio_open_tty(c, err) : mr_stdio_attach(c, err);
}

/* As the payload's user and inside its root, so cwd gives no right it would not have. */
static int enter_cwd(struct mr_child *c, struct mr_error *err)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_NO_MAGICLINKS };
	mr_auto_close int fd =
		(int)syscall(SYS_openat2, AT_FDCWD, c->spec->sandbox_cwd, &how, sizeof(how));

	if (fd < 0 || fchdir(fd) < 0)
		return mr_err(err, MR_E_USAGE, errno, "working directory %s: %m",
			      c->spec->sandbox_cwd);
	return 0;
}

/* Of the kernel: libc keeps two for itself, which a caller's posix_spawn() leaves ignored. */
static void set_default(int sig)
{
	const struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} action = { .handler = SIG_DFL };

	syscall(SYS_rt_sigaction, sig, &action, NULL, sizeof(action.mask));
}

static int reset_signals(struct mr_child *c, struct mr_error *err)
{
	sigset_t none;

	(void)c;
	sigemptyset(&none);
	for (int sig = 1; sig < _NSIG; sig++)
		set_default(sig); /* SIGKILL and SIGSTOP refuse: they need nothing */
	if (sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		return mr_err(err, MR_E_SYS, errno, "clear the signal mask: %m");
	return 0;
}

static int load_filter(struct mr_child *c, struct mr_error *err)
{
	return mr_seccomp_load(c->filter, &c->listener_fd, err);
}

/* READY, then wait for the supervisor to have seen what it wants to see. */
static int wait_for_go(struct mr_child *c, struct mr_error *err)
{
	struct mr_sync_msg msg = { .type = MR_SYNC_READY };
	int fds[2], r;
	unsigned int n = 0;
	ssize_t got;
	char go;

	if (c->listener_fd >= 0) {
		msg.fds |= MR_SYNC_FD_LISTENER;
		fds[n++] = c->listener_fd;
	}
	if (c->pty_fd >= 0) {
		msg.fds |= MR_SYNC_FD_PTY;
		fds[n++] = c->pty_fd;
	}
	r = mr_sync_send(c->sync_fd, &msg, fds, n);
	if (r < 0)
		return mr_err(err, MR_E_SYS, -r, "report to the supervisor: %m");
	do
		got = read(c->go_fd, &go, 1);
	while (got < 0 && errno == EINTR);
	if (got != 1)
		_exit(125); /* the supervisor is gone or has refused */
	return 0;
}

static int limit(struct mr_child *c, struct mr_error *err)
{
	return mr_rlimits_apply(c->spec, !c->opts->cgroup, err);
}

static int close_rest(struct mr_child *c, struct mr_error *err)
{
	return mr_stdio_close_except(&c->sync_fd, 1, err);
}

static int become_program(struct mr_child *c, struct mr_error *err)
{
	return mr_program_exec(c->argv, c->envp, err);
}

static const struct mr_step steps[] = {
	{ "session", begin_session },
	{ "streams", attach_streams },
	{ "cwd", enter_cwd },
	{ "signals", reset_signals },
	{ "filter", load_filter },
	{ "go", wait_for_go },
	/* After the filter: its listener is a descriptor, and there may be room for three only.
	 * After the word to go: a policy may refuse these calls to all but us, and whoever knows
	 * the difference listens from then on. */
	{ "limits", limit },
	{ "close", close_rest }, /* the listener and the sync socket first must not outlive exec */
	{ "exec", become_program }, /* returns only on failure */
};
MR_DIE_TABLE(payload, steps[0], N_ELEMENTS(steps));

const char *mr_init_step_name(size_t i)
{
	return i < N_ELEMENTS(steps) ? steps[i].name : NULL;
}

static void run_payload(struct mr_child *c, struct mr_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(steps); i++) {
		mr_progress_note(c, MR_PROGRESS_PAYLOAD + i);
		MR_DIE_AT(payload, steps[i].name);
		r = steps[i].run(c, err);
	}
}

/* The children that a process did not wait for are ours, ended as they are, before we learn of its own
 * end. */
static int32_t reap_unreaped(void)
{
	for (int32_t n = 0; n <= MR_SYNC_UNREAPED_MAX; n++)
		if (waitpid(-1, NULL, WNOHANG) <= 0)
			return n;
	return -1;
}

static void report_exit(struct mr_child *c, int status)
{
	struct mr_sync_msg msg = { .type = MR_SYNC_EXITED };

	msg.exited.wait_status = status;
	msg.exited.unreaped = reap_unreaped();
	getrusage(RUSAGE_CHILDREN, &msg.exited.rusage);
	mr_sync_send(c->sync_fd, &msg, NULL, 0);
}

/* Nobody of the payload lives on: the supervisor has nobody to count or to kill but us, and what is
 * ours to tear down, which is most of a run's end, begins before it is awake. */
static bool is_alone(void)
{
	return kill(-1, 0) < 0 && errno == ESRCH;
}

/* True when there may be more: a payload that makes orphans as fast as they are reaped must not
 * keep us from the supervisor's word. */
static bool reap(struct mr_child *c, pid_t main_pid)
{
	int status;

	for (int i = 0; i < REAP_BATCH; i++) {
		pid_t pid = waitpid(-1, &status, WNOHANG);

		/* Without a child, and not told of: how the program ended is known to nobody. */
		if (pid < 0 && errno == ECHILD && !c->main_reported)
			_exit(125);
		if (pid <= 0)
			return false;
		if (pid != main_pid)
			continue;
		report_exit(c, status);
		c->main_reported = true;
		if (is_alone())
			_exit(0);
	}
	return true;
}

/* One read: a flood of signals, which the payload may send us, must not hold us either.  What is
 * left of it wakes the next poll. */
static void take_signals(int signals)
{
	struct signalfd_siginfo infos[16];

	if (read(signals, infos, sizeof(infos)) < 0 && errno != EAGAIN && errno != EINTR)
		_exit(125);
}

static void obey(struct mr_child *c, pid_t main_pid)
{
	struct mr_error err;
	struct mr_sync_msg msg;
	int fds[8];
	int r = mr_sync_recv(c->sync_fd, &msg, 0, fds, NULL, &err);

	if (r <= 0)
		_exit(0); /* the supervisor is gone: take everything along */
	if (msg.type == MR_SYNC_SIGNAL && kill(-main_pid, msg.signal) < 0)
		kill(main_pid,
		     msg.signal); /* no group of that id any more: the process, if it lives */
}

_Noreturn static void watch_over(struct mr_child *c, pid_t main_pid, int signals)
{
	struct pollfd polls[] = { { .fd = c->sync_fd, .events = POLLIN },
				  { .fd = signals, .events = POLLIN } };
	bool more = false;

	for (;;) {
		if (poll(polls, N_ELEMENTS(polls), more ? 0 : -1) < 0 && errno != EINTR)
			_exit(125);
		take_signals(signals);
		more = reap(c, main_pid);
		if (polls[0].revents)
			obey(c, main_pid);
	}
}

_Noreturn void mr_init_main(struct mr_child *c)
{
	struct mr_error err = MR_ERROR_INIT;
	sigset_t all;
	pid_t main_pid;
	int signals;

	sigfillset(&all);
	if (sigprocmask(SIG_BLOCK, &all, NULL) < 0 ||
	    (signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK)) < 0) {
		mr_err(&err, MR_E_SYS, errno, "signals of init: %m");
		fail(c, &err);
	}
	/* Until its exec the payload borrows our memory: nothing to copy, and nothing for us to do
	 * meanwhile. Should the supervisor die, the go pipe tells the payload, and its end us. */
	/* NOLINTBEGIN(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork) */
	main_pid = vfork();
	if (main_pid < 0) {
		mr_err(&err, MR_E_SYS, errno, "fork the payload: %m");
		fail(c, &err);
	}
	if (main_pid == 0) {
		run_payload(c, &err);
		fail(c, &err);
	}
	/* NOLINTEND(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork) */
	if (mr_stdio_close_except((int[]){ c->sync_fd, signals }, 2, &err) < 0)
		fail(c, &err);
	for (int i = 0; i < 3; i++)
		close(i); /* the caller's, from the clone */
	watch_over(c, main_pid, signals);
}
