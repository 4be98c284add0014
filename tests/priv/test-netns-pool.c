/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool of network namespaces: what is as new is used again, and whatever was left in one throws it
 * away
 * kernel
 * security
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "netns/pool.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"

#define TURNS 1000

static struct mr_netns_pool *pool;

static int make_pool(void **state)
{
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	if (mr_netns_pool_new(2, &pool, &err) < 0)
		fail_msg("%s", err.msg);
	return 0;
}

static int free_pool(void **state)
{
	(void)state;
	pool = mr_netns_pool_free(pool);
	return 0;
}

static int take(void)
{
	struct mr_error err = MR_ERROR_INIT;
	int fd = mr_netns_pool_take(pool, &err);

	if (fd < 0)
		fail_msg("%s", err.msg);
	return fd;
}

/* In a process of its own: 0, or why not. */
static int within(int ns, int (*call)(const void *what), const void *what)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(setns(ns, CLONE_NEWNET) < 0 ? 126 : call(what));
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}

/* The kernel frees some sockets a little later, and until then they are there: wait for one that
 * is the pool's own. */
static int wait_for_sockets(const void *what)
{
	char text[512];

	(void)what;
	for (int i = 0; i < 200000; i++) {
		ssize_t n = mr_read_file_at(AT_FDCWD, "/proc/thread-self/net/sockstat", text,
					    sizeof(text));

		if (n > 0 && strncmp(text, "sockets: used 1\n", 16) == 0)
			return 0;
		sched_yield();
	}
	return 1;
}

/* A line of words for the shell of the test's own; the words are ours. */
static int run_words(const void *line)
{
	char text[200], *words[20], *rest = text;
	size_t n = 0;

	snprintf(text, sizeof(text), "%s", (const char *)line);
	while (n < N_ELEMENTS(words) - 1 && (words[n] = strsep(&rest, " ")))
		n++;
	words[n] = NULL;
	if (!freopen("/dev/null", "w", stderr))
		return 126;
	execvp(words[0], words);
	return 127;
}

static int write_sysctl(const void *line)
{
	const char *path = line, *value = path + strlen(path) + 1;

	return mr_write_file_at(AT_FDCWD, path, value) < 0 ? 77 : 0;
}

static void test_what_was_only_looked_at_is_used_again(void **state)
{
	const int ns = take();

	(void)state;
	assert_int_equal(mr_netns_pool_give(pool, ns), 1);
	assert_int_equal(take(), ns);
	assert_int_equal(mr_netns_pool_give(pool, ns), 1);
}

/* What the supervisor's own users do to one: nothing that has a name of its own. */
static int use_sockets(const void *what)
{
	const int families[] = { AF_INET, AF_INET6, AF_UNIX, AF_NETLINK };

	(void)what;
	for (size_t i = 0; i < N_ELEMENTS(families); i++) {
		int fd = socket(families[i], SOCK_DGRAM, 0);

		if (fd < 0 && families[i] != AF_INET6)
			return 1;
		close(fd);
	}
	return 0;
}

static void test_sockets_that_are_closed_are_nothing(void **state)
{
	const int ns = take();

	(void)state;
	assert_int_equal(within(ns, use_sockets, NULL), 0);
	assert_int_equal(within(ns, wait_for_sockets, NULL), 0);
	assert_int_equal(mr_netns_pool_give(pool, ns), 1);
}

static void test_each_leftover_throws_it_away(void **state)
{
	static const char *const rows[] = {
		"ip link set lo up",
		"ip link set lo mtu 1500",
		"ip link set lo txqueuelen 7",
		"ip link set lo alias x",
		"ip link set lo promisc on",
		"ip link set lo addrgenmode none",
		"ip link add x0 type veth",
		"ip link add x0 type dummy",
		"ip link add x0 type bridge",
		"ip link add x0 type ifb",
		"ip addr add 192.0.2.1/32 dev lo",
		"ip addr add 2001:db8::1/128 dev lo",
		"ip route add unreachable 192.0.2.0/24",
		"ip -6 route add unreachable 2001:db8::/32",
		"ip route add unreachable 192.0.2.0/24 table 9",
		"ip rule add pref 7 table 9",
		"ip -6 rule add pref 7 table 9",
		"ip rule del pref 32766",
		"ip neigh add proxy 192.0.2.9 dev lo",
		"tc qdisc add dev lo root pfifo",
		"tc qdisc add dev lo clsact",
		"tc qdisc add dev lo root netem delay 1ms",
		"tc qdisc add dev lo root handle 1: prio",
	};
	unsigned int made = 0;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const int ns = take(), r = within(ns, run_words, rows[i]);

		assert_int_not_equal(r, 126);
		if (r != 0) { /* not with this kernel, or not with this ip */
			mr_netns_pool_give(pool, ns);
			print_message("not made here: %s\n", rows[i]);
			continue;
		}
		made++;
		assert_int_equal(within(ns, wait_for_sockets, NULL), 0);
		if (mr_netns_pool_give(pool, ns) != 0)
			fail_msg("kept after: %s", rows[i]);
	}
	assert_true(made >= 12);
}

static void test_a_socket_that_is_open_throws_it_away(void **state)
{
	static const struct {
		int family, type, protocol;
	} rows[] = {
		{ AF_INET, SOCK_STREAM, 0 },  { AF_INET, SOCK_DGRAM, 0 },
		{ AF_INET6, SOCK_STREAM, 0 }, { AF_INET6, SOCK_DGRAM, 0 },
		{ AF_INET, SOCK_RAW, 255 },   { AF_PACKET, SOCK_RAW, 0 },
		{ AF_NETLINK, SOCK_RAW, 0 },  { AF_UNIX, SOCK_STREAM, 0 },
		{ AF_UNIX, SOCK_DGRAM, 0 },   { AF_UNIX, SOCK_SEQPACKET, 0 },
	};
	const int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const int ns = take();
		int fd;

		assert_int_equal(setns(ns, CLONE_NEWNET), 0);
		fd = socket(rows[i].family, rows[i].type | SOCK_CLOEXEC, rows[i].protocol);
		assert_int_equal(setns(home, CLONE_NEWNET), 0);
		if (mr_netns_pool_give(pool, ns) != 0 && fd >= 0)
			fail_msg("kept with a socket of family %d open", rows[i].family);
		close(fd);
	}
	close(home);
}

static void test_a_sysctl_that_is_not_as_it_was_throws_it_away(void **state)
{
	static const char *const rows[] = {
		"/proc/sys/net/ipv4/ip_forward\0001",
		"/proc/sys/net/ipv4/conf/all/rp_filter\0002",
		"/proc/sys/net/ipv4/conf/lo/forwarding\0001",
		"/proc/sys/net/ipv6/conf/all/forwarding\0001",
		"/proc/sys/net/ipv6/conf/default/forwarding\0001",
		"/proc/sys/net/ipv4/ip_local_port_range\0001000 2000",
		"/proc/sys/net/ipv4/ip_unprivileged_port_start\0000",
		"/proc/sys/net/ipv4/ping_group_range\0000 9",
		"/proc/sys/net/ipv4/ip_nonlocal_bind\0001",
		"/proc/sys/net/ipv6/bindv6only\0001",
		"/proc/sys/net/core/somaxconn\0007",
		"/proc/sys/net/unix/max_dgram_qlen\0007",
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const int ns = take(), r = within(ns, write_sysctl, rows[i]);
		const int kept = mr_netns_pool_give(pool, ns);

		assert_true(r == 0 || r == 77);
		if (r == 0 && kept)
			fail_msg("kept after: %s", rows[i]);
	}
}

static void test_a_stranger_is_closed(void **state)
{
	const int fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(mr_netns_pool_give(pool, fd), 0);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void test_no_more_are_kept_than_asked_for(void **state)
{
	const int begin = count_fds();
	int ns[4], kept = 0;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(ns); i++)
		ns[i] = take();
	for (size_t i = 0; i < N_ELEMENTS(ns); i++)
		kept += mr_netns_pool_give(pool, ns[i]);
	assert_int_equal(kept, 2);
	pool = mr_netns_pool_free(pool);
	assert_true(count_fds() <= begin);
	make_pool(NULL);
}

/* Only those that may be kept are looked into: the others take a descriptor each. */
static void test_what_is_not_kept_takes_one_descriptor(void **state)
{
	const int begin = count_fds();
	int ns[6];

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(ns); i++)
		ns[i] = take();
	assert_true(count_fds() - begin <= 2 * (int)mr_netns_pool_fds() + 4);
	assert_true(count_fds() - begin >= 2 * ((int)mr_netns_pool_fds() - 4) + 4);
	for (size_t i = N_ELEMENTS(ns); i > 2; i--)
		assert_int_equal(mr_netns_pool_give(pool, ns[i - 1]), 0);
	assert_int_equal(mr_netns_pool_give(pool, ns[0]), 1);
	assert_int_equal(mr_netns_pool_give(pool, ns[1]), 1);
	assert_int_equal(take(), ns[1]);
	assert_int_equal(mr_netns_pool_give(pool, ns[1]), 1);
	/* A place that has become free is another's. */
	ns[0] = take();
	ns[1] = take();
	assert_int_equal(within(ns[0], run_words, "ip link set lo mtu 1500"), 0);
	assert_int_equal(mr_netns_pool_give(pool, ns[0]), 0);
	ns[0] = take();
	assert_int_equal(mr_netns_pool_give(pool, ns[0]), 1);
	assert_int_equal(mr_netns_pool_give(pool, ns[1]), 1);
	pool = mr_netns_pool_free(pool);
	make_pool(NULL);
}

/* In a process of its own, whose limit leaves so many descriptors: the errno, or 0 for a namespace, which
 * must not be kept. */
static int take_with(const void *left)
{
	struct rlimit limit = { 0, 0 };
	struct mr_error err = MR_ERROR_INIT;
	int before, next, ns;

	pool = NULL;
	if (mr_netns_pool_new(2, &pool, &err) < 0)
		return 120;
	before = count_fds();
	next = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(next);
	limit.rlim_cur = limit.rlim_max = (rlim_t)next + *(const rlim_t *)left;
	if (next < 0 || setrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 121;
	ns = mr_netns_pool_take(pool, &err);
	if (ns < 0)
		return strstr(err.msg, "open a new network namespace: Too many open files; ") ==
				       err.msg
			       ? -ns
			       : 122;
	/* The others were closed again: they are the run's to have. */
	if (count_fds() != before + 1)
		return 123;
	return mr_netns_pool_give(pool, ns) == 0 ? 0 : 124;
}

/* In a process of its own, root of a user namespace: 0 where there is no pool and it is where it was. */
static int pool_without_a_way_home(void)
{
	struct mr_error err = MR_ERROR_INIT;
	struct stat before, after;

	pool = NULL;
	if (stat("/proc/thread-self/ns/net", &before) < 0 || unshare(CLONE_NEWUSER) < 0)
		return 120;
	if (mr_netns_pool_new(2, &pool, &err) != 0 || pool)
		return 121;
	if (stat("/proc/thread-self/ns/net", &after) < 0 || before.st_ino != after.st_ino)
		return 122;
	/* In one that is its own there is one. */
	if (unshare(CLONE_NEWNET) < 0 || mr_netns_pool_new(2, &pool, &err) != 0 || !pool)
		return 123;
	return mr_netns_pool_take(pool, &err) >= 0 ? 0 : 124;
}

static void test_there_is_none_where_no_way_leads_home(void **state)
{
	int status = 0;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(pool_without_a_way_home());
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int limited(unsigned int left)
{
	const rlim_t room = left;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		/* No numbers are free below the ones that count. */
		for (int fd = open("/dev/null", O_RDONLY); fd >= 0 && fd < 60;)
			fd = dup(fd);
		_exit(take_with(&room));
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}

static void test_too_few_descriptors_are_told_as_what_they_are(void **state)
{
	(void)state;
	assert_int_equal(limited(0), EMFILE);
	for (unsigned int left = 1; left < 5; left++)
		assert_int_equal(limited(left), 0);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Given back, found clean and handed out again: what a run waits for in place of a new one. */
static void test_a_turn_is_short(void **state)
{
	static uint64_t took[TURNS];
	int ns = take();

	(void)state;
	for (size_t i = 0; i < TURNS; i++) {
		const uint64_t begin = now_ns();

		assert_int_equal(mr_netns_pool_give(pool, ns), 1);
		ns = take();
		took[i] = now_ns() - begin;
	}
	mr_netns_pool_give(pool, ns);
	qsort(took, TURNS, sizeof(*took), compare);
	print_message("a turn of %d: median %ju.%03ju us, 99 %% within %ju us\n", TURNS,
		      (uintmax_t)took[TURNS / 2] / 1000, (uintmax_t)took[TURNS / 2] % 1000,
		      (uintmax_t)took[TURNS * 99 / 100] / 1000);
	/* On plain hardware it is 100 us; a loaded or emulated machine has room. */
	assert_true(took[TURNS / 2] < 20000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_only_looked_at_is_used_again),
		cmocka_unit_test(test_sockets_that_are_closed_are_nothing),
		cmocka_unit_test(test_each_leftover_throws_it_away),
		cmocka_unit_test(test_a_socket_that_is_open_throws_it_away),
		cmocka_unit_test(test_a_sysctl_that_is_not_as_it_was_throws_it_away),
		cmocka_unit_test(test_a_stranger_is_closed),
		cmocka_unit_test(test_no_more_are_kept_than_asked_for),
		cmocka_unit_test(test_what_is_not_kept_takes_one_descriptor),
		cmocka_unit_test(test_too_few_descriptors_are_told_as_what_they_are),
		cmocka_unit_test(test_there_is_none_where_no_way_leads_home),
		cmocka_unit_test(test_a_turn_is_short),
	};

	if (geteuid() != 0) {
		printf("SKIP: not root\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, make_pool, free_pool);
}
