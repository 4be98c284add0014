/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdict: every row of the table, and what wins over what
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>

#include "runtime/base/cleanup.h"
#include "runtime/supervise/verdict.h"

#define EXITED(code) ((code) << 8)
#define BY_SIGNAL(sig) (sig)
#define BY_SIGNAL_WITH_CORE(sig) ((sig) | 0x80)

static const struct row {
	const char *what;
	struct mr_facts facts;
	enum mr_reason reason;
	int exit_status;
	bool has_code;
	int code, signal;
} rows[] = {
	/* by itself */
	{ "0", { .main_ended = true }, MR_REASON_exited, 0, true, 0, 0 },
	{ "7", { .main_ended = true, .wait_status = EXITED(7) }, MR_REASON_exited, 7, true, 7, 0 },
	{ "255",
	  { .main_ended = true, .wait_status = EXITED(255) },
	  MR_REASON_exited,
	  255,
	  true,
	  255,
	  0 },
	{ "124 of its own",
	  { .main_ended = true, .wait_status = EXITED(124) },
	  MR_REASON_exited,
	  124,
	  true,
	  124,
	  0 },
	{ "TERM",
	  { .main_ended = true, .wait_status = BY_SIGNAL(SIGTERM) },
	  MR_REASON_signaled,
	  143,
	  false,
	  0,
	  SIGTERM },
	{ "KILL from nobody of ours",
	  { .main_ended = true, .wait_status = BY_SIGNAL(SIGKILL) },
	  MR_REASON_signaled,
	  137,
	  false,
	  0,
	  SIGKILL },
	{ "SEGV with a core",
	  { .main_ended = true, .wait_status = BY_SIGNAL_WITH_CORE(SIGSEGV) },
	  MR_REASON_signaled,
	  139,
	  false,
	  0,
	  SIGSEGV },
	{ "real-time signal",
	  { .main_ended = true, .wait_status = BY_SIGNAL(64) },
	  MR_REASON_signaled,
	  192,
	  false,
	  0,
	  64 },
	{ "SIGSYS of a filter",
	  { .main_ended = true, .wait_status = BY_SIGNAL(SIGSYS), .seccomp_killed = true },
	  MR_REASON_seccomp,
	  159,
	  false,
	  0,
	  SIGSYS },
	{ "SIGSYS of anybody",
	  { .main_ended = true, .wait_status = BY_SIGNAL(SIGSYS) },
	  MR_REASON_signaled,
	  159,
	  false,
	  0,
	  SIGSYS },
	{ "SIGXFSZ at a limit",
	  { .main_ended = true, .wait_status = BY_SIGNAL(SIGXFSZ), .fsize_limited = true },
	  MR_REASON_disk_limit,
	  153,
	  false,
	  0,
	  SIGXFSZ },
	{ "another signal at a limit",
	  { .main_ended = true,
	    .wait_status = BY_SIGNAL(SIGTERM),
	    .fsize_limited = true,
	    .seccomp_killed = true },
	  MR_REASON_signaled,
	  143,
	  false,
	  0,
	  SIGTERM },
	{ "SIGXFSZ without a limit",
	  { .main_ended = true, .wait_status = BY_SIGNAL(SIGXFSZ) },
	  MR_REASON_signaled,
	  153,
	  false,
	  0,
	  SIGXFSZ },
	{ "gone with its init",
	  { .main_ended = false },
	  MR_REASON_signaled,
	  137,
	  false,
	  0,
	  SIGKILL },
	{ "init was killed by somebody else",
	  { .main_ended = false, .init_lost = true },
	  MR_REASON_supervisor_lost,
	  125,
	  false,
	  0,
	  0 },
	{ "init was the victim of an OOM",
	  { .main_ended = false, .init_lost = true, .oom_kills = 1 },
	  MR_REASON_oom,
	  137,
	  false,
	  0,
	  0 },
	/* killed by us, the main process with it */
	{ "wall", { .kill = MR_KILL_WALL }, MR_REASON_wall_timeout, 124, false, 0, SIGKILL },
	{ "CPU", { .kill = MR_KILL_CPU }, MR_REASON_cpu_limit, 137, false, 0, SIGKILL },
	{ "idle", { .kill = MR_KILL_IDLE }, MR_REASON_idle_timeout, 124, false, 0, SIGKILL },
	{ "output", { .kill = MR_KILL_OUTPUT }, MR_REASON_output_limit, 137, false, 0, SIGKILL },
	{ "memory",
	  { .kill = MR_KILL_OOM, .oom_kills = 1 },
	  MR_REASON_oom,
	  137,
	  false,
	  0,
	  SIGKILL },
	{ "memory, by polling", { .kill = MR_KILL_OOM }, MR_REASON_oom, 137, false, 0, SIGKILL },
	{ "pids, by polling",
	  { .kill = MR_KILL_PIDS },
	  MR_REASON_pids_limit,
	  137,
	  false,
	  0,
	  SIGKILL },
	{ "Ctrl-C",
	  { .kill = MR_KILL_USER, .user_signal = SIGINT },
	  MR_REASON_killed_by_user,
	  130,
	  false,
	  0,
	  SIGKILL },
	{ "TERM",
	  { .kill = MR_KILL_USER, .user_signal = SIGTERM },
	  MR_REASON_killed_by_user,
	  143,
	  false,
	  0,
	  SIGKILL },
	/* an interrupt that was passed on */
	{ "died of it",
	  { .main_ended = true, .wait_status = BY_SIGNAL(SIGTERM), .user_signal = SIGTERM },
	  MR_REASON_killed_by_user,
	  143,
	  false,
	  0,
	  SIGTERM },
	{ "died of it with a core",
	  { .main_ended = true,
	    .wait_status = BY_SIGNAL_WITH_CORE(SIGQUIT),
	    .user_signal = SIGQUIT },
	  MR_REASON_killed_by_user,
	  131,
	  false,
	  0,
	  SIGQUIT },
	{ "handled it",
	  { .main_ended = true, .wait_status = EXITED(7), .user_signal = SIGINT },
	  MR_REASON_exited,
	  7,
	  true,
	  7,
	  0 },
	{ "handled it and said 143",
	  { .main_ended = true, .wait_status = EXITED(143), .user_signal = SIGTERM },
	  MR_REASON_exited,
	  143,
	  true,
	  143,
	  0 },
	{ "died of another",
	  { .main_ended = true, .wait_status = BY_SIGNAL(SIGSEGV), .user_signal = SIGINT },
	  MR_REASON_signaled,
	  139,
	  false,
	  0,
	  SIGSEGV },
	{ "died of it beside limits",
	  { .main_ended = true,
	    .wait_status = BY_SIGNAL(SIGINT),
	    .user_signal = SIGINT,
	    .oom_kills = 1,
	    .pids_max_events = 1,
	    .disk_full = true },
	  MR_REASON_killed_by_user,
	  130,
	  false,
	  0,
	  SIGINT },
	{ "time was over first",
	  { .kill = MR_KILL_WALL, .user_signal = SIGINT },
	  MR_REASON_wall_timeout,
	  124,
	  false,
	  0,
	  SIGKILL },
	{ "no signal 0",
	  { .main_ended = true, .oom_kills = 1, .user_signal = 0 },
	  MR_REASON_oom,
	  137,
	  true,
	  0,
	  0 },
	/* OOM behind a status that hides it */
	{ "shell returned 0",
	  { .main_ended = true, .oom_kills = 1 },
	  MR_REASON_oom,
	  137,
	  true,
	  0,
	  0 },
	{ "shell returned 137",
	  { .main_ended = true, .wait_status = EXITED(137), .oom_kills = 2 },
	  MR_REASON_oom,
	  137,
	  true,
	  137,
	  0 },
	{ "main was the victim",
	  { .main_ended = true, .wait_status = BY_SIGNAL(SIGKILL), .oom_kills = 1 },
	  MR_REASON_oom,
	  137,
	  false,
	  0,
	  SIGKILL },
	{ "time-out beside an OOM",
	  { .kill = MR_KILL_WALL, .oom_kills = 3 },
	  MR_REASON_wall_timeout,
	  124,
	  false,
	  0,
	  SIGKILL },
	/* limits that do not kill: the program's own status stays */
	{ "pids met, failed",
	  { .main_ended = true, .wait_status = EXITED(2), .pids_max_events = 1 },
	  MR_REASON_pids_limit,
	  2,
	  true,
	  2,
	  0 },
	{ "pids met, coped",
	  { .main_ended = true, .pids_max_events = 9 },
	  MR_REASON_exited,
	  0,
	  true,
	  0,
	  0 },
	{ "disk full, failed",
	  { .main_ended = true, .wait_status = EXITED(1), .disk_full = true },
	  MR_REASON_disk_limit,
	  1,
	  true,
	  1,
	  0 },
	{ "disk full, coped",
	  { .main_ended = true, .disk_full = true },
	  MR_REASON_exited,
	  0,
	  true,
	  0,
	  0 },
	{ "disk full, SIGBUS",
	  { .main_ended = true, .wait_status = BY_SIGNAL(SIGBUS), .disk_full = true },
	  MR_REASON_disk_limit,
	  135,
	  false,
	  0,
	  SIGBUS },
	{ "output lost, did well",
	  { .main_ended = true, .output_lost = true },
	  MR_REASON_exited,
	  125,
	  true,
	  0,
	  0 },
	{ "output lost, failed",
	  { .main_ended = true, .wait_status = EXITED(1), .output_lost = true },
	  MR_REASON_exited,
	  1,
	  true,
	  1,
	  0 },
	{ "a required mock was not asked",
	  { .main_ended = true, .mock_unused = true },
	  MR_REASON_exited,
	  125,
	  true,
	  0,
	  0 },
	{ "a required mock was not asked, failed",
	  { .main_ended = true, .wait_status = EXITED(3), .mock_unused = true },
	  MR_REASON_exited,
	  3,
	  true,
	  3,
	  0 },
	{ "SIGSYS beside limits",
	  { .main_ended = true,
	    .wait_status = BY_SIGNAL(SIGSYS),
	    .seccomp_killed = true,
	    .pids_max_events = 1,
	    .disk_full = true },
	  MR_REASON_seccomp,
	  159,
	  false,
	  0,
	  SIGSYS },
	{ "killed beside limits",
	  { .kill = MR_KILL_OUTPUT, .pids_max_events = 1, .disk_full = true },
	  MR_REASON_output_limit,
	  137,
	  false,
	  0,
	  SIGKILL },
	/* our own failure wins over all */
	{ "set-up",
	  { .setup_failed = true, .setup_exit_status = 125 },
	  MR_REASON_setup_error,
	  125,
	  false,
	  0,
	  0 },
	{ "not found",
	  { .setup_failed = true, .setup_exit_status = 127 },
	  MR_REASON_setup_error,
	  127,
	  false,
	  0,
	  0 },
	{ "set-up, then killed",
	  { .setup_failed = true,
	    .setup_exit_status = 2,
	    .kill = MR_KILL_WALL,
	    .oom_kills = 1,
	    .main_ended = true },
	  MR_REASON_setup_error,
	  2,
	  false,
	  0,
	  0 },
};

static void every_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct row *row = &rows[i];
		struct mr_verdict v = mr_verdict_reach(&row->facts);

		if (v.reason != row->reason || v.exit_status != row->exit_status ||
		    v.has_code != row->has_code || v.code != row->code || v.signal != row->signal)
			fail_msg("%s: %s, status %d, code %d (%d), signal %d", row->what,
				 mr_reason_name(v.reason), v.exit_status, v.has_code, v.code,
				 v.signal);
	}
}

static void every_exit_code_is_kept(void **state)
{
	(void)state;
	for (int code = 0; code < 256; code++) {
		struct mr_facts facts = { .main_ended = true, .wait_status = EXITED(code) };
		struct mr_verdict v = mr_verdict_reach(&facts);

		assert_int_equal(v.exit_status, code);
		assert_int_equal(v.code, code);
		assert_int_equal(v.reason, MR_REASON_exited);
	}
}

static void every_reason_has_its_name(void **state)
{
	static const char *const expected[] = {
#define REASON(name) #name,
		MR_REASONS(REASON)
#undef REASON
	};

	(void)state;
	assert_int_equal(N_ELEMENTS(expected), 15);
	for (size_t i = 0; i < N_ELEMENTS(expected); i++)
		assert_string_equal(mr_reason_name((enum mr_reason)i), expected[i]);
}

/* What is told of a kill and what of its reason alone are the same. */
static void a_kill_for_a_limit_names_it(void **state)
{
	(void)state;
	assert_null(mr_kill_limit(MR_KILL_NONE));
	assert_null(mr_kill_limit(MR_KILL_USER));
	assert_null(mr_kill_limit(MR_KILL_INJECTED));
	assert_string_equal(mr_kill_limit(MR_KILL_CPU), "cpu_time");
	for (enum mr_kill_cause kill = MR_KILL_WALL; kill <= MR_KILL_INJECTED; kill++) {
		const struct mr_verdict v = mr_verdict_reach(&(struct mr_facts){ .kill = kill });

		assert_ptr_equal(mr_reason_limit(v.reason), mr_kill_limit(kill));
	}
	assert_string_equal(mr_reason_limit(MR_REASON_disk_limit), "disk");
	assert_null(mr_reason_limit(MR_REASON_exited));
	assert_null(mr_reason_limit(MR_REASON_setup_error));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row),
		cmocka_unit_test(every_exit_code_is_kept),
		cmocka_unit_test(every_reason_has_its_name),
		cmocka_unit_test(a_kill_for_a_limit_names_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
