/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inherit
 *
 * One row of rules[] is one thing that outlives execve() and that would change what we do.
 * What is kept on purpose has no row:
 *   limits (setrlimit)   the caller's bound on us.  A soft RLIMIT_CPU sends SIGXCPU, which ends a run
 *                        in order (mr_signal_ends); its hard limit kills, as the caller asked.
 *   nice, affinity       the caller's share of the machine holds for what runs in the sandbox, too
 *   current folder       paths of the command line are relative to it
 * menace-symbolize applies none: it runs as the program of a sandbox, where init has done so.
 * POSIX timers, pending alarms of threads and handlers do not outlive execve().
 */
#include "runtime/base/inherit.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

/* What the caller ignores of these stays ignored. */
static const int stays_ignored[] = {
	SIGHUP, /* nohup: the run goes on when the terminal is gone */
	SIGINT,	 SIGQUIT, /* a background job of a shell without job control */
	SIGTSTP, SIGTTIN, SIGTTOU, /* nobody would continue what they stop */
	SIGPIPE, SIGXFSZ, /* the write that meets them fails, and says so */
};

static bool may_stay_ignored(int sig)
{
	for (size_t i = 0; i < N_ELEMENTS(stays_ignored); i++)
		if (stays_ignored[i] == sig)
			return true;
	return false;
}

bool mr_signal_is_ignored(int sig)
{
	struct sigaction action;

	return sigaction(sig, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

/* With SIGCHLD ignored the kernel reaps our children itself and how they ended is lost; with SIGTERM
 * ignored nobody could end us in order. */
static int settle_dispositions(void)
{
	const struct sigaction normal = { .sa_handler = SIG_DFL };

	for (int sig = 1; sig < _NSIG; sig++)
		if (mr_signal_is_ignored(sig) && !may_stay_ignored(sig) &&
		    sigaction(sig, &normal, NULL) < 0)
			return -1;
	return 0;
}

/* What is pending and blocked comes now, while there is nothing yet to take back. */
static int settle_mask(void)
{
	sigset_t none;

	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL);
}

/* An alarm that the caller set for itself goes off in us. */
static int settle_timers(void)
{
	static const int timers[] = { ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF };
	const struct itimerval off = { .it_value = { 0 } };

	for (size_t i = 0; i < N_ELEMENTS(timers); i++)
		if (setitimer((__itimer_which_t)timers[i], &off, NULL) < 0)
			return -1;
	return 0;
}

/* Of what we make the caller may take rights of the group and of others, but not our own: a folder
 * without them could not be filled. */
static int settle_umask(void)
{
	umask(umask(077) & 077);
	return 0;
}

static const struct rule {
	const char *what;
	int (*settle)(void); /* -1 with errno */
	bool of_helpers; /* what another program of ours starts has it, too */
} rules[] = {
	{ "signal dispositions", settle_dispositions, true },
	{ "timers", settle_timers, true },
	{ "signal mask", settle_mask, false },
	{ "umask", settle_umask, true },
};

static int settle(bool helper, struct mr_error *err)
{
	for (size_t i = 0; i < N_ELEMENTS(rules); i++)
		if ((!helper || rules[i].of_helpers) && rules[i].settle() < 0)
			return mr_err(err, MR_E_SYS, errno, "inherited %s: %m", rules[i].what);
	return 0;
}

int mr_inherit_settle(struct mr_error *err)
{
	return settle(false, err);
}

int mr_inherit_settle_helper(struct mr_error *err)
{
	return settle(true, err);
}

bool mr_signal_ends(int sig)
{
	static const int ending[] = { SIGHUP,	 SIGINT,  SIGQUIT,   SIGTERM, SIGALRM, SIGXCPU,
				      SIGVTALRM, SIGPROF, SIGSTKFLT, SIGPOLL, SIGPWR };

	for (size_t i = 0; i < N_ELEMENTS(ending); i++)
		if (ending[i] == sig)
			return true;
	return sig >= SIGRTMIN && sig <= SIGRTMAX;
}

static void take(sigset_t *set, int sig)
{
	if (!mr_signal_is_ignored(sig)) /* blocked it would be queued, and received */
		sigaddset(set, sig);
}

int mr_signals_open(const int *more, size_t n_more, sigset_t *ret_before, struct mr_error *err)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	for (int sig = 1; sig < _NSIG; sig++)
		if (mr_signal_ends(sig))
			take(&set, sig);
	for (size_t i = 0; i < n_more; i++)
		take(&set, more[i]);
	if (sigprocmask(SIG_BLOCK, &set, ret_before) < 0)
		return mr_err(err, MR_E_SYS, errno, "signals: %m");
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? mr_err(err, MR_E_SYS, errno, "receive signals: signalfd: %m") : fd;
}
