/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Life of a group on the real hierarchies: made, named, shared, raced for, swept
 * after its creator died, and gone without a trace.
 * kernel gate
 * security
 */
#include "tests/priv/test-cgroup.h"

static const struct mr_limits some_limits = { 64 * MIB, 0, 16, MR_UNLIMITED, 0, false };

static void nothing_is_left_after_a_life(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	const char *name = own_name("life");
	int fds = count_fds();

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct mr_cgroup_host *h;
		struct mr_cgroup *cg;
		char path[160];
		struct stat st;
		short events;

		assert_ok(mr_cgroup_detect(&h, &err));
		assert_ok(mr_cgroup_new(h, name, &some_limits, 0, &cg, &err));
		h = mr_cgroup_host_free(h); /* the group does not need it any more */
		assert_int_equal(fstat(mr_cgroup_v2_fd(cg), &st), 0);
		assert_int_equal(mr_cgroup_id(cg), st.st_ino);
		snprintf(path, sizeof(path), "/menace/%s", name);
		assert_non_null(strstr(mr_cgroup_path(cg), path));
		assert_int_equal(count_left(name),
				 3 - (mr_cgroup_host_mode(host) == MR_CGROUP_V2) * 2);
		assert_true(mr_cgroup_oom_fd(cg, &events) >= 0);
		assert_int_equal(mr_cgroup_populated(cg, &err), 0);
		assert_ok(mr_cgroup_destroy(cg, &err));
		assert_ok(mr_cgroup_destroy(cg, &err)); /* again: gone is gone */
		assert_ok(mr_cgroup_kill(cg, &err));
		assert_int_equal(mr_cgroup_populated(cg, &err), 0);
		cg = mr_cgroup_free(cg);
		assert_null(cg);
	}
	assert_int_equal(count_left(name), 0);
	assert_int_equal(count_empty_parents(), 0);
	assert_int_equal(count_fds(), fds);
}

static int open_of(const char *path)
{
	struct mr_error err = MR_ERROR_INIT;
	char text[300];

	snprintf(text, sizeof(text), "1:name=systemd:/elsewhere\n0::%s\n", path);
	return mr_cgroup_open_of(text, &err);
}

static void the_group_of_another_process_is_found(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_close int fd = -1;
	struct mr_cgroup *cg;
	char path[160];
	struct stat st;

	(void)state;
	assert_ok(mr_cgroup_new(host, own_name("of"), &some_limits, 0, &cg, &err));
	fd = open_of(mr_cgroup_path(cg));
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_ino, mr_cgroup_id(cg));
	snprintf(path, sizeof(path), "%s/none", mr_cgroup_path(cg));
	assert_int_equal(open_of(path), -ENOENT);
	snprintf(path, sizeof(path), "/..%s", mr_cgroup_path(cg)); /* of a group outside ours */
	assert_int_equal(open_of(path), -ENOENT);
	assert_int_equal(mr_cgroup_open_of("1:memory:/\n", &err), -ENOENT);
	assert_ok(mr_cgroup_destroy(cg, &err));
	mr_cgroup_free(cg);
}

static void with_more_to_come_the_parent_stays(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	const char *name = own_name("stays");
	struct mr_cgroup_host *h;
	struct mr_cgroup *cg;

	(void)state;
	assert_ok(mr_cgroup_detect(&h, &err));
	mr_cgroup_host_keep_parent(h);
	assert_ok(mr_cgroup_new(h, name, &some_limits, 0, &cg, &err));
	assert_ok(mr_cgroup_destroy(cg, &err));
	assert_int_equal(count_left(name), 0);
	assert_int_equal(faccessat(h->h[0].base_fd, MR_CGROUP_PARENT, F_OK, 0), 0);
	mr_cgroup_free(cg);
	mr_cgroup_host_free(h);
	assert_int_equal(count_empty_parents(), 0);
}

static void bad_names_are_refused(void **state)
{
	static const char *const names[] = { "", ".", "..", "../x", "a/b", "a b", "a\n" };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_cgroup *cg = NULL;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		assert_int_equal(mr_cgroup_new(host, names[i], &some_limits, 0, &cg, &err),
				 -EINVAL);
		assert_int_equal(err.code, MR_E_USAGE);
		assert_null(cg);
		assert_int_equal(mr_cgroup_sweep(host, names[i], 0, &err), -EINVAL);
	}
	assert_int_equal(mr_cgroup_new(host, "..", &some_limits, 0, &cg, &err), -EINVAL);
	assert_string_equal(err.msg,
			    "make cgroup ..: cgroup name \"..\": accepted are 1 to 64 of A-Z "
			    "a-z 0-9 . _ -, and neither \".\" nor \"..\"");
}

static void names_of_kernel_files_are_no_groups(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_cgroup *cg = NULL;

	(void)state;
	assert_int_equal(mr_cgroup_new(host, "cgroup.procs", &some_limits, 0, &cg, &err), -EEXIST);
	assert_ok(mr_cgroup_sweep(host, "cgroup.procs", 0, &err));
	assert_int_equal(count_empty_parents(), 0);
}

static void a_name_is_given_once(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	const char *name = own_name("twice");
	struct mr_cgroup *cg, *second = NULL;

	(void)state;
	assert_ok(mr_cgroup_new(host, name, &some_limits, 0, &cg, &err));
	assert_int_equal(mr_cgroup_new(host, name, &some_limits, 0, &second, &err), -EEXIST);
	assert_null(second);
	assert_non_null(strstr(err.msg, ": File exists"));
	assert_int_not_equal(count_left(name), 0); /* the first one's is untouched */
	assert_ok(mr_cgroup_destroy(cg, &err));
	mr_cgroup_free(cg);
	assert_int_equal(count_left(name), 0);
}

static void failure_removes_what_was_made(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	const char *name = own_name("undo");
	struct mr_cgroup_host *h;
	struct mr_cgroup *cg = NULL;
	int fds = count_fds();

	(void)state;
	assert_ok(mr_cgroup_detect(&h, &err));
	/* The last hierarchy is not a cgroup directory any more. */
	mr_close(h->h[h->n - 1].base_fd);
	h->h[h->n - 1].base_fd = open("/proc/self/fdinfo", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(mr_cgroup_new(h, name, &(struct mr_limits){ 64 * MIB, 0, 16, 50000, 0, false },
				  0, &cg, &err) < 0);
	assert_null(cg);
	mr_cgroup_host_free(h);
	assert_int_equal(count_left(name), 0);
	assert_int_equal(count_empty_parents(), 0);
	assert_int_equal(count_fds(), fds);
}

static void absent_controller_is_an_error_only_when_asked(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_limits l = NO_LIMITS;
	struct mr_cgroup_host *h;
	struct mr_cgroup *cg = NULL;

	(void)state;
	assert_ok(mr_cgroup_detect(&h, &err));
	for (size_t i = 0; i < h->n; i++)
		h->h[i].controllers &= ~MR_CONTROLLER_BIT(MR_CONTROLLER_PIDS);
	h->controllers &= ~MR_CONTROLLER_BIT(MR_CONTROLLER_PIDS);
	assert_ok(mr_cgroup_new(h, own_name("absent"), &l, 0, &cg, &err));
	assert_ok(mr_cgroup_destroy(cg, &err));
	cg = mr_cgroup_free(cg);
	l.pids_max = 4;
	assert_int_equal(mr_cgroup_new(h, "x", &l, 0, &cg, &err), -EOPNOTSUPP);
	assert_int_equal(err.code, MR_E_KERNEL);
	assert_string_equal(err.msg, "make cgroup x: limit asked, but no pids controller: absent");
	mr_cgroup_host_free(h);
}

static void busy_group_is_not_removed(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_cgroup *cg;
	size_t n = 0;
	pid_t pid, pids[4] = { 0 };
	char text[256];

	(void)state;
	assert_ok(mr_cgroup_new(host, own_name("busy"), &some_limits, 0, &cg, &err));
	pid = spawn(cg, pause_forever, NULL);
	assert_int_equal(mr_cgroup_populated(cg, &err), 1);
	assert_ok(mr_cgroup_pids(cg, pids, 4, &n, &err));
	assert_int_equal(n, 1);
	assert_int_equal(pids[0], pid);
	assert_int_equal(mr_cgroup_destroy(cg, &err), -EBUSY);
	snprintf(text, sizeof(text), "remove cgroup %s: 1 processes are left in it",
		 mr_cgroup_path(cg));
	assert_string_equal(err.msg, text);
	assert_int_equal(count_left(own_name("busy")),
			 mr_cgroup_host_mode(host) == MR_CGROUP_V2 ? 1 : 3);
	assert_ok(mr_cgroup_kill(cg, &err));
	/* no wait in between: destroy bridges the time until the process is gone */
	assert_ok(mr_cgroup_destroy(cg, &err));
	mr_cgroup_free(cg);
	assert_int_equal(wait_status(pid), SIGKILL);
	assert_int_equal(count_left(own_name("busy")), 0);
}

static void groups_below_are_killed_and_removed(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_cgroup *cg;
	int sub, deep;
	size_t n = 0;
	pid_t pid;

	(void)state;
	assert_ok(mr_cgroup_new(host, own_name("below"), &some_limits, 0, &cg, &err));
	assert_int_equal(mkdirat(mr_cgroup_v2_fd(cg), "sub", 0755), 0);
	sub = openat(mr_cgroup_v2_fd(cg), "sub", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(sub, "deep", 0755), 0);
	assert_int_equal(mkdirat(sub, "empty", 0755), 0);
	deep = openat(sub, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* v2 with controllers: a group that passes them on holds no processes; "deep" has none */
	pid = spawn_at(deep, cg, pause_forever, NULL);
	assert_true(pid > 0);
	assert_ok(mr_cgroup_pids(cg, NULL, 0, &n, &err));
	assert_int_equal(n, 1);
	assert_int_equal(mr_cgroup_destroy(cg, &err), -EBUSY);
	assert_ok(mr_cgroup_kill(cg, &err));
	wait_unpopulated(cg);
	assert_ok(mr_cgroup_destroy(cg, &err));
	assert_int_equal(wait_status(pid), SIGKILL);
	close(sub);
	close(deep);
	mr_cgroup_free(cg);
	assert_int_equal(count_left(own_name("below")), 0);
}

static int live_and_die(const char *name, int rounds)
{
	struct mr_error err = MR_ERROR_INIT;

	for (int i = 0; i < rounds; i++) {
		struct mr_cgroup *cg;
		pid_t pid;

		if (mr_cgroup_new(host, name, &some_limits, 1, &cg, &err) < 0)
			break;
		pid = spawn_at(mr_cgroup_v2_fd(cg), cg, pause_forever, NULL);
		if (pid < 0 || mr_cgroup_kill(cg, &err) < 0 || waitpid(pid, NULL, 0) != pid ||
		    mr_cgroup_destroy(cg, &err) < 0)
			break;
		mr_cgroup_free(cg);
		if (i == rounds - 1)
			return 0;
	}
	fprintf(stderr, "%s: %s\n", name, err.msg);
	return 1;
}

static void thirty_two_at_once(void **state)
{
	pid_t pids[32];
	char name[65];

	(void)state;
	for (int i = 0; i < 32; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			snprintf(name, sizeof(name), "test-par-%d", (int)getpid());
			_exit(live_and_die(name, 25));
		}
		assert_true(pids[i] > 0);
	}
	for (int i = 0; i < 32; i++) {
		assert_int_equal(wait_status(pids[i]), 0);
		snprintf(name, sizeof(name), "test-par-%d", (int)pids[i]);
		assert_int_equal(count_left(name), 0);
	}
	assert_int_equal(count_empty_parents(), 0);
}

static void one_of_many_gets_a_name(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	const char *name = own_name("race");
	int winners = 0;
	pid_t pids[16];

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(pids); i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			struct mr_cgroup *cg;
			int r = mr_cgroup_new(host, name, &some_limits, 0, &cg, &err);

			_exit(r == 0 ? 0 : r == -EEXIST ? 1 : 2);
		}
		assert_true(pids[i] > 0);
	}
	for (size_t i = 0; i < N_ELEMENTS(pids); i++) {
		int status = wait_status(pids[i]);

		assert_in_range(WEXITSTATUS(status), 0, 1);
		winners += status == 0;
	}
	assert_int_equal(winners, 1);
	assert_int_not_equal(count_left(name), 0);
	assert_ok(mr_cgroup_sweep(host, name, PATIENCE_MS, &err));
	assert_int_equal(count_left(name), 0);
}

/* The creator of a run, as far as this folder goes; killed at any instant. */
static void create_and_linger(const char *name, int ready_fd)
{
	struct mr_cgroup *cg;

	if (mr_cgroup_new(host, name, &some_limits, 1, &cg, NULL) < 0)
		_exit(1);
	spawn_at(mr_cgroup_v2_fd(cg), cg, pause_forever, NULL);
	spawn_at(mr_cgroup_v2_fd(cg), cg, pause_forever, NULL);
	if (ready_fd >= 0 && write(ready_fd, "x", 1) != 1)
		_exit(1);
	pause_forever(NULL);
}

static void sweep_ends_what_a_killed_creator_left(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	const char *name = own_name("sweep");
	struct mr_cgroup *again;
	int ready[2];
	char c;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0)
		create_and_linger(name, ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(wait_status(pid), SIGKILL);
	assert_int_not_equal(count_left(name), 0);
	assert_ok(mr_cgroup_sweep(host, name, PATIENCE_MS, &err));
	assert_int_equal(count_left(name), 0);
	/* both sleepers came to us and died of the sweep */
	assert_true(waitpid(-1, NULL, 0) > 0);
	assert_true(waitpid(-1, NULL, 0) > 0);
	assert_int_equal(waitpid(-1, NULL, 0), -1);
	assert_ok(mr_cgroup_sweep(host, name, 0, &err));
	assert_ok(mr_cgroup_new(host, name, &some_limits, 0, &again, &err));
	assert_ok(mr_cgroup_destroy(again, &err));
	mr_cgroup_free(again);
	assert_int_equal(count_empty_parents(), 0);
	close(ready[0]);
	close(ready[1]);
}

static void sweep_after_a_kill_at_any_instant(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	const char *name = own_name("instant");

	(void)state;
	for (int i = 0; i < 150; i++) {
		struct timespec t = { 0, (i * 7919 % 150) * 5000L };
		pid_t pid = fork();

		if (pid == 0)
			create_and_linger(name, -1);
		assert_true(pid > 0);
		nanosleep(&t, NULL); /* the instant is the point; nothing depends on it */
		kill(pid, SIGKILL);
		assert_int_equal(wait_status(pid), SIGKILL);
		assert_ok(mr_cgroup_sweep(host, name, PATIENCE_MS, &err));
		assert_int_equal(count_left(name), 0);
		reap_all();
	}
	/* A creator killed between the parent and the group leaves an empty parent, which the
	 * next run's destroy takes along. */
	nothing_is_left_after_a_life(state);
}

static void sweep_without_the_v2_group(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	const char *name = own_name("half");
	struct mr_cgroup *cg;
	char path[128], c;
	int ready[2];
	pid_t pid;

	(void)state;
	if (mr_cgroup_host_mode(host) != MR_CGROUP_HYBRID)
		skip();
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_ok(mr_cgroup_new(host, name, &some_limits, 0, &cg, &err));
	pid = fork();
	if (pid == 0)
		_exit(mr_cgroup_enter_v1(cg, NULL) < 0 || write(ready[1], "x", 1) != 1
			      ? 99
			      : pause_forever(NULL));
	assert_int_equal(read(ready[0], &c, 1), 1);
	snprintf(path, sizeof(path), MR_CGROUP_PARENT "/%s", name);
	assert_int_equal(unlinkat(host->h[0].base_fd, path, AT_REMOVEDIR), 0);
	mr_cgroup_free(cg);
	assert_ok(mr_cgroup_sweep(host, name, PATIENCE_MS, &err));
	assert_int_equal(count_left(name), 0);
	assert_int_equal(wait_status(pid), SIGKILL);
	close(ready[0]);
	close(ready[1]);
}

static void a_user_without_rights_is_told_why(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		struct mr_error err = MR_ERROR_INIT;
		struct mr_cgroup_host *h;
		struct mr_cgroup *cg;

		if (setgid(65534) < 0 || setuid(65534) < 0 || mr_cgroup_detect(&h, &err) < 0)
			_exit(2);
		if (mr_cgroup_host_mode(h) != MR_CGROUP_NONE ||
		    !strstr(mr_cgroup_host_why(h),
			    "is not writable for uid 65534: Permission denied; "
			    "run as root, or in a delegated group"))
			_exit(3);
		if (mr_cgroup_new(h, "x", &some_limits, 0, &cg, &err) != -EOPNOTSUPP ||
		    err.code != MR_E_KERNEL ||
		    strncmp(err.msg, "make cgroup x: no usable cgroups: ", 34) != 0)
			_exit(4);
		_exit(mr_cgroup_sweep(h, "x", 0, &err) == 0 ? 0 : 5);
	}
	status = wait_status(pid);
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_left_after_a_life),
		cmocka_unit_test(the_group_of_another_process_is_found),
		cmocka_unit_test(with_more_to_come_the_parent_stays),
		cmocka_unit_test(bad_names_are_refused),
		cmocka_unit_test(names_of_kernel_files_are_no_groups),
		cmocka_unit_test(a_name_is_given_once),
		cmocka_unit_test(failure_removes_what_was_made),
		cmocka_unit_test(absent_controller_is_an_error_only_when_asked),
		cmocka_unit_test(busy_group_is_not_removed),
		cmocka_unit_test(groups_below_are_killed_and_removed),
		cmocka_unit_test(thirty_two_at_once),
		cmocka_unit_test(one_of_many_gets_a_name),
		cmocka_unit_test(sweep_ends_what_a_killed_creator_left),
		cmocka_unit_test(sweep_after_a_kill_at_any_instant),
		cmocka_unit_test(sweep_without_the_v2_group),
		cmocka_unit_test(a_user_without_rights_is_told_why),
	};

	need_cgroups();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
