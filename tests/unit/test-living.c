/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking the supervisor of a run that goes on: the asker's name is no dead one's, whoever looks
 * at it when
 *
 * listen() of this program is where others look: between the calls that make a socket.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "cgroups/cgroup.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/supervise/follow.h"
#include "runtime/supervise/lease.h"
#include "runtime/supervise/living.h"
#include "runtime/supervise/run.h"
#include "runtime/supervise/state.h"
#include "tests/lib/temptree.h"

#define ID "00000000000000000000000000"
#define PATIENCE_MS 60000 /* however busy the machine is */

struct fixture {
	struct temptree tree;
	struct mr_cgroup_host *host;
	pid_t supervisor;
};

static struct fixture f;
static void (*look)(void); /* what somebody does before a socket listens */

int listen(int fd, int backlog)
{
	if (look)
		look();
	return (int)syscall(SYS_listen, fd, backlog);
}

static int connect_to_asker(void)
{
	mr_auto_closedir DIR *dir = opendir(f.tree.path);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, ".follow-" ID, strlen(".follow-" ID)) != 0)
			continue;
		if (snprintf(un.sun_path, sizeof(un.sun_path), "/proc/self/fd/%d/%s", f.tree.fd,
			     entry->d_name) < (int)sizeof(un.sun_path) &&
		    connect(fd, (const struct sockaddr *)&un, sizeof(un)) == 0)
			return fd;
	}
	close(fd);
	return -1;
}

/* Answers one signal with a connection and a word. */
static void supervise(int ready)
{
	struct mr_error err;
	sigset_t asked;
	int sig, fd = mr_lease_take(f.tree.fd, ID, f.host, &(struct mr_lease_note){ 0 }, &err);

	sigemptyset(&asked);
	sigaddset(&asked, SIGURG);
	if (fd < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
	    sigprocmask(SIG_BLOCK, &asked, NULL) < 0 || write(ready, "", 1) != 1 ||
	    sigwait(&asked, &sig) != 0)
		_exit(1);
	fd = connect_to_asker();
	_exit(fd < 0 || send(fd, "word", 4, 0) != 4);
}

static int set_up(void **state)
{
	struct mr_error err;
	int ready[2];
	char byte;

	(void)state;
	temptree_make(&f.tree);
	MUST(mr_cgroup_detect(&f.host, &err) == 0);
	MUST(pipe(ready) == 0);
	f.supervisor = fork();
	MUST(f.supervisor >= 0);
	if (f.supervisor == 0)
		supervise(ready[1]);
	close(ready[1]);
	MUST(read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	look = NULL;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	kill(f.supervisor, SIGKILL);
	waitpid(f.supervisor, NULL, 0);
	f.host = mr_cgroup_host_free(f.host);
	temptree_remove(&f.tree);
	return 0;
}

static int count_names(void)
{
	mr_auto_closedir DIR *dir = opendir(f.tree.path);
	struct dirent *entry;
	int n = 0;

	MUST(dir);
	while ((entry = readdir(dir)))
		n += strncmp(entry->d_name, ".follow-", strlen(".follow-")) == 0;
	return n;
}

static void expect_answer(void)
{
	struct mr_living run = { .folder = f.tree.path };
	struct mr_error err = MR_ERROR_INIT;
	char word[5] = "";
	int fd = -1;

	assert_int_equal(mr_lease_read(f.tree.fd, ID, &run.info), 0);
	if (mr_living_follow(&run, PATIENCE_MS, &fd, &err) != 0)
		fail_msg("%s", err.msg);
	assert_int_equal(recv(fd, word, sizeof(word) - 1, 0), 4);
	assert_string_equal(word, "word");
	close(fd);
	mr_lease_info_deinit(&run.info);
	assert_int_equal(count_names(), 0);
}

/* As the supervisor does for each signal. */
static void look_for_askers(void)
{
	static struct mr_run_host host;
	static struct mr_run run = { .host = &host, .id = ID };

	host.lease_dir = f.tree.fd;
	mr_run_followed(&run);
	assert_null(run.follow);
}

static void request_of_another_does_not_take_the_name_away(void **state)
{
	(void)state;
	look = look_for_askers;
	expect_answer();
}

static void sweep(void)
{
	mr_auto_closedir DIR *dir = opendir(f.tree.path);
	struct dirent *entry;

	MUST(dir);
	while ((entry = readdir(dir)))
		mr_follow_sweep(f.tree.fd, entry->d_name);
}

static void sweep_of_a_start_does_not_take_the_name_away(void **state)
{
	(void)state;
	look = sweep;
	expect_answer();
}

static void name_of_a_dead_one_goes_with_the_next_request(void **state)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	(void)state;
	snprintf(un.sun_path, sizeof(un.sun_path), "/proc/self/fd/%d/.follow-" ID "-1-1",
		 f.tree.fd);
	assert_int_equal(bind(fd, (const struct sockaddr *)&un, sizeof(un)), 0);
	look_for_askers();
	assert_int_equal(count_names(), 1);
	close(fd);
	look_for_askers();
	assert_int_equal(count_names(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(request_of_another_does_not_take_the_name_away),
		TEST(sweep_of_a_start_does_not_take_the_name_away),
		TEST(name_of_a_dead_one_goes_with_the_next_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
