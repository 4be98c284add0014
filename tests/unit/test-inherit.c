/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process inherits, rule by rule, and how the end of a child is told that nobody knows
 */
#include "runtime/base/inherit.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/wait.h"

/* In a child of its own: what is settled there is not the test program's. */
static int in_child(int (*body)(void))
{
	int status = -1;
	const pid_t pid = fork();

	if (pid == 0)
		_exit(body());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int settle(void)
{
	struct mr_error err = MR_ERROR_INIT;

	return mr_inherit_settle(&err);
}

static int ignores(void)
{
	static const int kept[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTSTP,
				    SIGTTIN, SIGTTOU, SIGPIPE, SIGXFSZ };

	for (int sig = 1; sig < _NSIG; sig++)
		signal(sig, SIG_IGN);
	if (settle() < 0)
		return 100;
	for (int sig = 1; sig < _NSIG; sig++) {
		bool stays = false;

		for (size_t i = 0; i < N_ELEMENTS(kept); i++)
			stays |= kept[i] == sig;
		if (mr_signal_is_ignored(sig) != stays)
			return sig;
	}
	return 0;
}

static void test_only_some_signals_stay_ignored(void **state)
{
	(void)state;
	assert_int_equal(in_child(ignores), 0);
}

static int blocks(void)
{
	struct mr_error err = MR_ERROR_INIT;
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	if (mr_inherit_settle_helper(&err) < 0 || sigprocmask(SIG_SETMASK, NULL, &set) < 0 ||
	    !sigismember(&set, SIGTERM))
		return 1;
	if (settle() < 0 || sigprocmask(SIG_SETMASK, NULL, &set) < 0)
		return 2;
	return sigisemptyset(&set) ? 0 : 3;
}

static void test_nothing_stays_blocked_but_for_a_helper(void **state)
{
	(void)state;
	assert_int_equal(in_child(blocks), 0);
}

static int has_timers(void)
{
	static const int timers[] = { ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF };
	const struct itimerval hour = { .it_value = { .tv_sec = 3600 } };
	struct itimerval left;

	for (size_t i = 0; i < N_ELEMENTS(timers); i++)
		setitimer((__itimer_which_t)timers[i], &hour, NULL);
	if (settle() < 0)
		return 1;
	for (size_t i = 0; i < N_ELEMENTS(timers); i++)
		if (getitimer((__itimer_which_t)timers[i], &left) < 0 || left.it_value.tv_sec)
			return 2;
	return 0;
}

static void test_timers_are_disarmed(void **state)
{
	(void)state;
	assert_int_equal(in_child(has_timers), 0);
}

static int has_umask(void)
{
	umask(0727);
	return settle() < 0 || umask(0) != 027;
}

static void test_our_own_rights_are_not_masked(void **state)
{
	(void)state;
	assert_int_equal(in_child(has_umask), 0);
}

/* Each signal that ends a process by default and that others send is received, or is on this list. */
static int receives(void)
{
	static const int not_taken[] = { SIGKILL, SIGUSR1, SIGUSR2, SIGPIPE, SIGXFSZ, SIGILL,
					 SIGTRAP, SIGABRT, SIGBUS,  SIGFPE,  SIGSEGV, SIGSYS };
	static const int harmless[] = { SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP,
					SIGTTIN, SIGTTOU, SIGURG,  SIGWINCH };
	struct mr_error err = MR_ERROR_INIT;
	struct signalfd_siginfo info;
	int fd;

	signal(SIGHUP, SIG_IGN);
	fd = settle() < 0 ? -1 : mr_signals_open(NULL, 0, NULL, &err);
	if (fd < 0)
		return 100;
	for (int sig = 1; sig <= SIGRTMAX; sig++) {
		bool other = sig == SIGHUP || (sig > SIGSYS && sig < SIGRTMIN);

		for (size_t i = 0; i < N_ELEMENTS(not_taken); i++)
			other |= not_taken[i] == sig;
		for (size_t i = 0; i < N_ELEMENTS(harmless); i++)
			other |= harmless[i] == sig;
		if (mr_signal_ends(sig) == (other && sig != SIGHUP))
			return sig;
		if (other && sig != SIGHUP)
			continue;
		if (kill(getpid(), sig) < 0)
			return 101;
		if ((read(fd, &info, sizeof(info)) == sizeof(info)) == (sig == SIGHUP))
			return sig;
	}
	return 0;
}

static void test_what_ends_a_run_is_received(void **state)
{
	(void)state;
	assert_int_equal(in_child(receives), 0);
}

static void test_child_that_is_gone_has_not_succeeded(void **state)
{
	int status = 0;
	const pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(mr_wait(pid), MR_WAIT_UNKNOWN);
	assert_int_equal(mr_wait_now(pid, &status), 1);
	assert_int_equal(status, MR_WAIT_UNKNOWN);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_some_signals_stay_ignored),
		cmocka_unit_test(test_nothing_stays_blocked_but_for_a_helper),
		cmocka_unit_test(test_timers_are_disarmed),
		cmocka_unit_test(test_our_own_rights_are_not_masked),
		cmocka_unit_test(test_what_ends_a_run_is_received),
		cmocka_unit_test(test_child_that_is_gone_has_not_succeeded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
