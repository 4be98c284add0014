/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits on the real hierarchies: just under, at, over, absurd and none, for
 * memory, processes and CPU; out of memory seen by event, count and level; and
 * the kill guarantee against a fork bomb, by both ways of killing.
 * kernel gate
 * security
 */
#include "tests/priv/test-cgroup.h"

#include <sys/socket.h>

/* A test that fails half-way leaves its group; the next one must not meet it. */
static char last_name[65];

static int sweep_last(void **state)
{
	(void)state;
	reap_all();
	return last_name[0] ? mr_cgroup_sweep(host, last_name, PATIENCE_MS, NULL) : 0;
}

static struct mr_cgroup *make(const char *stem, const struct mr_limits *limits, unsigned int extra)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_cgroup *cg;

	snprintf(last_name, sizeof(last_name), "%s", own_name(stem));
	assert_ok(mr_cgroup_new(host, last_name, limits, extra, &cg, &err));
	return cg;
}

static void end(struct mr_cgroup *cg)
{
	struct mr_error err = MR_ERROR_INIT;

	assert_ok(mr_cgroup_destroy(cg, &err));
	mr_cgroup_free(cg);
	assert_int_equal(count_left(last_name), 0);
}

static struct mr_cgroup_stats stats_of(const struct mr_cgroup *cg)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_cgroup_stats s;

	assert_ok(mr_cgroup_stats(cg, &s, &err));
	return s;
}

/* v2 kernels may count the first victim of a group kill twice. */
static void assert_oom_kills(const struct mr_cgroup_stats *s, uint64_t victims)
{
	bool v2 = mr_cgroup_host_mode(host) == MR_CGROUP_V2;

	assert_in_range(s->oom_kills, victims, victims + (v2 && victims > 0));
}

/* The shown value of a key; MR_UNLIMITED - 1 when there is no such row. */
static uint64_t shown(const struct mr_cgroup *cg, const char *key)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_cgroup_shown rows[8];
	size_t n = 0;

	assert_ok(mr_cgroup_show_limits(cg, rows, N_ELEMENTS(rows), &n, &err));
	for (size_t i = 0; i < n; i++)
		if (strcmp(rows[i].key, key) == 0)
			return rows[i].value;
	return MR_UNLIMITED - 1;
}

static void the_kernel_shows_what_was_asked(void **state)
{
	const struct mr_limits l = { 33554432 + 4095, 0, 8, 25000, 50000, false };
	struct mr_cgroup *cg = make("show", &l, 3);

	(void)state;
	assert_int_equal(shown(cg, "memory_max_bytes"), 33554432); /* rounded to pages */
	assert_int_equal(shown(cg, "pids_max"), 8);
	assert_int_equal(shown(cg, "cpu_quota_us"), 25000);
	assert_int_equal(shown(cg, "cpu_period_us"), 50000);
	if (shown(cg, "swap_max_bytes") != MR_UNLIMITED - 1)
		assert_int_equal(shown(cg, "swap_max_bytes"), 0);
	end(cg);
}

static void unlimited_stays_unlimited(void **state)
{
	const struct mr_limits l = NO_LIMITS;
	struct mr_cgroup *cg = make("none", &l, 3);

	(void)state;
	assert_true(shown(cg, "memory_max_bytes") == MR_UNLIMITED);
	assert_true(shown(cg, "pids_max") == MR_UNLIMITED);
	assert_true(shown(cg, "cpu_quota_us") >= MR_UNLIMITED - 1); /* no row, or no limit */
	assert_string_equal(mr_cgroup_note(cg), "");
	end(cg);
}

static void absurd_values_end_in_a_limit_or_a_refusal(void **state)
{
	struct mr_limits l = { MR_UNLIMITED - 1, 0, MR_UNLIMITED - 1, MR_UNLIMITED, 0, false };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_cgroup *cg = make("absurd", &l, 1);

	(void)state;
	assert_true(shown(cg, "memory_max_bytes") == MR_UNLIMITED);
	assert_int_equal(shown(cg, "pids_max"), 4194304 - 1);
	end(cg);
	l = (struct mr_limits)NO_LIMITS;
	l.cpu_quota_us = MR_UNLIMITED - 1;
	assert_int_equal(mr_cgroup_new(host, own_name("absurd"), &l, 0, &cg, &err), -EINVAL);
	assert_int_equal(err.code, MR_E_USAGE);
	assert_int_equal(count_left(own_name("absurd")), 0);
	l.cpu_quota_us = 1;
	cg = make("tiny", &l, 0);
	assert_int_equal(shown(cg, "cpu_quota_us"), 1000);
	assert_int_equal(shown(cg, "cpu_period_us"), 1000000);
	end(cg);
}

/* Not instrumented: shadow memory would count against the limit. */
__attribute__((no_sanitize("address"))) static int touch_memory(void *arg)
{
	size_t size = *(size_t *)arg;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return 98;
	for (size_t i = 0; i < size; i += 4096)
		p[i] = 1;
	return 0;
}

static void memory_case(uint64_t limit, size_t touch, int want_status)
{
	const struct mr_limits l = { limit, 0, MR_UNLIMITED, MR_UNLIMITED, 0, false };
	struct mr_cgroup *cg = make("memory", &l, 0);
	struct mr_cgroup_stats s;

	assert_int_equal(wait_status(spawn(cg, touch_memory, &touch)), want_status);
	s = stats_of(cg);
	assert_oom_kills(&s, want_status == SIGKILL);
	assert_true(s.memory_peak_bytes != MR_STAT_UNKNOWN || !s.memory_peak_source);
	if (s.memory_peak_bytes != MR_STAT_UNKNOWN) {
		assert_non_null(s.memory_peak_source);
		if (want_status == 0)
			assert_true(s.memory_peak_bytes >= touch);
		if (limit != MR_UNLIMITED)
			assert_true(s.memory_peak_bytes <= limit);
	}
	if (want_status == SIGKILL) {
		assert_true(s.memory_max_events > 0); /* or unknown, never 0 */
		assert_string_equal(mr_cgroup_oom_level(cg, &s), "sandbox");
	} else {
		assert_int_equal(s.memory_max_events, 0);
		assert_null(mr_cgroup_oom_level(cg, &s));
	}
	end(cg);
}

static void memory_just_under(void **state)
{
	(void)state;
	memory_case(32 * MIB, 30 * MIB, 0);
}

/* As much as the limit for data alone leaves nothing for page tables. */
static void memory_at(void **state)
{
	(void)state;
	memory_case(32 * MIB, 32 * MIB, SIGKILL);
}

static void memory_over(void **state)
{
	(void)state;
	memory_case(32 * MIB, 256 * MIB, SIGKILL);
}

static void memory_without_limit(void **state)
{
	(void)state;
	memory_case(MR_UNLIMITED, 64 * MIB, 0);
}

static void oom_is_an_event_a_count_and_a_level(void **state)
{
	const struct mr_limits l = { 8 * MIB, 0, MR_UNLIMITED, MR_UNLIMITED, 0, false };
	struct mr_cgroup *cg = make("oom", &l, 0);
	size_t touch = 64 * MIB;
	struct pollfd p = { 0 };
	struct mr_cgroup_stats s;
	pid_t pid;

	(void)state;
	p.fd = mr_cgroup_oom_fd(cg, &p.events);
	assert_true(p.fd >= 0);
	assert_int_equal(p.events, mr_cgroup_host_mode(host) == MR_CGROUP_V2 ? POLLPRI : POLLIN);
	assert_int_equal(poll(&p, 1, 0), 0); /* nothing yet */
	pid = spawn(cg, touch_memory, &touch);
	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
	assert_true(p.revents & p.events);
	assert_int_equal(wait_status(pid), SIGKILL);
	s = stats_of(cg);
	assert_oom_kills(&s, 1);
	assert_string_equal(mr_cgroup_oom_level(cg, &s), "sandbox");
	end(cg);
}

static int hide_oom(void *arg)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(touch_memory(arg));
	return waitpid(pid, NULL, 0) == pid ? 0 : 97;
}

/* v1 kills one process, and its parent may say all is well; v2 kills the whole group. */
static void oom_of_a_grandchild_is_counted(void **state)
{
	const struct mr_limits l = { 8 * MIB, 0, MR_UNLIMITED, MR_UNLIMITED, 0, false };
	struct mr_cgroup *cg = make("hidden", &l, 0);
	bool v2 = mr_cgroup_host_mode(host) == MR_CGROUP_V2;
	size_t touch = 64 * MIB;
	struct mr_cgroup_stats s;

	(void)state;
	assert_int_equal(wait_status(spawn(cg, hide_oom, &touch)), v2 ? SIGKILL : 0);
	s = stats_of(cg);
	assert_oom_kills(&s, v2 ? 2 : 1);
	assert_string_equal(mr_cgroup_oom_level(cg, &s), "sandbox");
	wait_unpopulated(cg);
	reap_all();
	end(cg);
}

static void oom_level_names_who_ran_out(void **state)
{
	struct mr_limits l = NO_LIMITS;
	struct mr_cgroup *cg = make("level", &l, 0);
	struct mr_cgroup_stats s = stats_of(cg);

	(void)state;
	assert_null(mr_cgroup_oom_level(cg, &s));
	s.oom_kills = MR_STAT_UNKNOWN;
	assert_null(mr_cgroup_oom_level(cg, &s));
	/* Killed, though this group has no limit: someone above ran out. */
	s.oom_kills = 1;
	assert_string_not_equal(mr_cgroup_oom_level(cg, &s), "sandbox");
	end(cg);
}

/* How many of 60 forks succeed, by exit status. */
static int fork_sixty(void *arg)
{
	int made = 0, pipefd[2];

	(void)arg;
	if (pipe(pipefd) < 0)
		return 98;
	for (int i = 0; i < 60; i++) {
		char c;
		pid_t pid = fork();

		if (pid == 0) {
			close(pipefd[1]);
			_exit((int)read(pipefd[0], &c, 1)); /* until the parent has ended */
		}
		if (pid < 0 && errno != EAGAIN)
			return 97;
		made += pid > 0;
	}
	return made;
}

static void pids_case(uint64_t limit, unsigned int extra, int want_made)
{
	const struct mr_limits l = { MR_UNLIMITED, MR_UNLIMITED, limit, MR_UNLIMITED, 0, false };
	struct mr_cgroup *cg = make("pids", &l, extra);
	struct mr_cgroup_stats s;
	int status = wait_status(spawn(cg, fork_sixty, NULL));

	assert_int_equal(WEXITSTATUS(status), want_made);
	wait_unpopulated(cg);
	reap_all();
	s = stats_of(cg);
	if (want_made < 60) /* newer v2 kernels count per group, older ones where it was hit */
		assert_true(s.pids_max_events > 0);
	else
		assert_int_equal(s.pids_max_events, 0);
	if (s.pids_peak != MR_STAT_UNKNOWN)
		assert_int_equal(s.pids_peak, want_made + 1);
	end(cg);
}

static void pids_just_under(void **state)
{
	(void)state;
	pids_case(62, 0, 60);
}

static void pids_at(void **state)
{
	(void)state;
	pids_case(61, 0, 60);
}

static void pids_over(void **state)
{
	(void)state;
	pids_case(60, 0, 59);
	pids_case(2, 0, 1);
	pids_case(1, 0, 0);
}

static void pids_of_ours_come_on_top(void **state)
{
	(void)state;
	pids_case(4, 2, 5);
}

static void pids_without_limit(void **state)
{
	(void)state;
	pids_case(MR_UNLIMITED, 7, 60);
}

static uint64_t read_clock_us(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* Of the processor's time, which is the same however busy the machine is. */
static int spin(void *arg)
{
	const uint64_t us = *(const uint64_t *)arg;

	while (read_clock_us(CLOCK_PROCESS_CPUTIME_ID) < us)
		;
	return 0;
}

static void cpu_share_is_kept_and_throttling_counted(void **state)
{
	const struct mr_limits l = { MR_UNLIMITED, MR_UNLIMITED, MR_UNLIMITED, 5000, 50000, false };
	const uint64_t began_us = read_clock_us(CLOCK_MONOTONIC);
	struct mr_error err = MR_ERROR_INIT;
	struct mr_cgroup *cg = make("cpu", &l, 0);
	struct mr_cgroup_stats s;
	uint64_t usage = 0, us = 50000;
	int n = 0;

	(void)state;
	/* On a busy machine others may leave it no more than its share, for a while. */
	do {
		assert_int_equal(wait_status(spawn(cg, spin, &us)), 0);
		s = stats_of(cg);
		assert_true(s.cpu_throttled_us != MR_STAT_UNKNOWN);
	} while (s.cpu_throttled_us <= 100000 && ++n < 20);
	assert_ok(mr_cgroup_cpu_usage_us(cg, &usage, &err));
	/* the last time slice of a process is booked a moment after it was reaped */
	assert_in_range(usage, s.cpu_usage_us, s.cpu_usage_us + 20000);
	/* a tenth of the time that goes by; without a limit all of it, on an idle machine */
	assert_in_range(usage, 40000, (read_clock_us(CLOCK_MONOTONIC) - began_us) * 3 / 10);
	assert_true(s.cpu_nr_throttled > 0 && s.cpu_nr_throttled != MR_STAT_UNKNOWN);
	assert_true(s.cpu_throttled_us > 100000);
	end(cg);
}

static void cpu_without_limit(void **state)
{
	const struct mr_limits l = NO_LIMITS;
	struct mr_cgroup *cg = make("free", &l, 0);
	struct mr_cgroup_stats s;
	uint64_t us = 200000;

	(void)state;
	assert_int_equal(wait_status(spawn(cg, spin, &us)), 0);
	s = stats_of(cg);
	assert_true(s.cpu_usage_us > 150000 && s.cpu_usage_us != MR_STAT_UNKNOWN);
	if (mr_cgroup_host_mode(host) == MR_CGROUP_HYBRID)
		assert_true(s.cpu_nr_throttled == MR_STAT_UNKNOWN); /* no cpu group was made */
	end(cg);
}

static int fork_bomb(void *arg)
{
	int full_fd = *(int *)arg;

	signal(SIGTERM, SIG_IGN);
	for (;;)
		if (fork() < 0 && send(full_fd, "x", 1, MSG_DONTWAIT) < 0 && errno != EAGAIN)
			return 0;
}

static void bomb_case(bool fallback)
{
	const struct mr_limits l = { 256 * MIB, 0, 64, MR_UNLIMITED, 0, false };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_cgroup *cg = make("bomb", &l, 0);
	int full[2];
	size_t n = 0;
	pid_t pid;
	char c;

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, full), 0);
	pid = spawn(cg, fork_bomb, &full[1]);
	assert_int_equal(read(full[0], &c, 1), 1); /* a fork has failed: 64 are there */
	assert_ok(mr_cgroup_pids(cg, NULL, 0, &n, &err));
	assert_in_range(n, 2, 64);
	if (fallback)
		assert_ok(mr_tree_kill(mr_cgroup_v2_fd(cg), PATIENCE_MS, &err));
	else
		assert_ok(mr_cgroup_kill(cg, &err));
	wait_unpopulated(cg);
	assert_ok(mr_cgroup_pids(cg, NULL, 0, &n, &err));
	assert_int_equal(n, 0);
	end(cg);
	assert_int_equal(wait_status(pid), SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
	close(full[0]);
	close(full[1]);
}

static void fork_bomb_is_killed(void **state)
{
	(void)state;
	bomb_case(false);
}

static void fork_bomb_is_killed_without_cgroup_kill(void **state)
{
	(void)state;
	bomb_case(true);
}

static void fallback_kill_reaches_below_and_stopped_ones(void **state)
{
	const struct mr_limits l = NO_LIMITS;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_cgroup *cg = make("tree", &l, 0);
	int sub;
	pid_t below, stopped = spawn(cg, pause_forever, NULL);

	(void)state;
	kill(stopped, SIGSTOP);
	assert_int_equal(mkdirat(mr_cgroup_v2_fd(cg), "sub", 0755), 0);
	sub = openat(mr_cgroup_v2_fd(cg), "sub", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	below = spawn_at(sub, cg, pause_forever, NULL);
	assert_true(below > 0);
	assert_ok(mr_tree_kill(mr_cgroup_v2_fd(cg), PATIENCE_MS, &err));
	assert_int_equal(mr_cgroup_populated(cg, &err), 0);
	assert_int_equal(wait_status(stopped), SIGKILL);
	assert_int_equal(wait_status(below), SIGKILL);
	close(sub);
	end(cg);
}

#define TEST(f) cmocka_unit_test_teardown(f, sweep_last)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_kernel_shows_what_was_asked),
		TEST(unlimited_stays_unlimited),
		TEST(absurd_values_end_in_a_limit_or_a_refusal),
		TEST(memory_just_under),
		TEST(memory_at),
		TEST(memory_over),
		TEST(memory_without_limit),
		TEST(oom_is_an_event_a_count_and_a_level),
		TEST(oom_of_a_grandchild_is_counted),
		TEST(oom_level_names_who_ran_out),
		TEST(pids_just_under),
		TEST(pids_at),
		TEST(pids_over),
		TEST(pids_of_ours_come_on_top),
		TEST(pids_without_limit),
		TEST(cpu_share_is_kept_and_throttling_counted),
		TEST(cpu_without_limit),
		TEST(fork_bomb_is_killed),
		TEST(fork_bomb_is_killed_without_cgroup_kill),
		TEST(fallback_kill_reaches_below_and_stopped_ones),
	};

	need_cgroups();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
