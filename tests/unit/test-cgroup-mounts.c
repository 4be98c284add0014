/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which mount shows our own group: hybrid, pure v2, containers with and without
 * a cgroup namespace, and texts that no kernel would write.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "cgroups/mounts.h"
#include "runtime/base/cleanup.h"

static const char hybrid_mounts[] =
	"24 1 0:22 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
	"31 24 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup "
	"rw,cpuacct,cpu\n"
	"34 24 0:31 / /sys/fs/cgroup/memory rw,relatime shared:1 master:2 - cgroup cgroup "
	"rw,memory\n"
	"38 24 0:35 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n"
	"39 24 0:36 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n"
	"40 24 0:37 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
static const char hybrid_own[] = "9:name=systemd:/\n8:pids:/\n4:memory:/process/x:y\n"
				 "2:cpu,cpuacct:/\n0::/u\n";

static void hybrid(void **state)
{
	struct mr_mounts m;

	(void)state;
	assert_int_equal(mr_mounts_parse(hybrid_mounts, hybrid_own, &m), 0);
	assert_string_equal(m.v2.point, "/sys/fs/cgroup/unified");
	assert_string_equal(m.v2.own, "/u");
	assert_string_equal(m.v2.below, "u");
	assert_string_equal(m.v1[MR_CONTROLLER_MEMORY].point, "/sys/fs/cgroup/memory");
	assert_string_equal(m.v1[MR_CONTROLLER_MEMORY].own, "/process/x:y");
	assert_string_equal(m.v1[MR_CONTROLLER_MEMORY].below, "process/x:y");
	assert_string_equal(m.v1[MR_CONTROLLER_PIDS].below, "");
	assert_string_equal(m.v1[MR_CONTROLLER_CPU].point, "/sys/fs/cgroup/cpu,cpuacct");
	assert_null(m.v1[MR_CONTROLLER_IO].point);
	mr_mounts_deinit(&m);
	assert_null(m.v2.point);
}

static void root_of_the_mount_is_taken_off(void **state)
{
	struct mr_mounts m;

	(void)state;
	assert_int_equal(mr_mounts_parse("1 2 0:3 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup "
					 "rw\n",
					 "0::/docker/abc/init\n", &m),
			 0);
	assert_string_equal(m.v2.below, "init");
	mr_mounts_deinit(&m);
	assert_int_equal(mr_mounts_parse("1 2 0:3 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup "
					 "rw\n",
					 "0::/docker/abc\n", &m),
			 0);
	assert_string_equal(m.v2.below, "");
	mr_mounts_deinit(&m);
}

static void groups_we_cannot_see_are_not_used(void **state)
{
	static const char *const own[] = { "0::/docker/abcd\n",
					   "0::/other\n",
					   "0::/../x\n",
					   "0::/docker/abc/..\n",
					   "0::\n",
					   "1:memory:/docker/abc\n",
					   "" };
	struct mr_mounts m;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(own); i++) {
		assert_int_equal(mr_mounts_parse("1 2 0:3 /docker/abc /sys/fs/cgroup rw - cgroup2 "
						 "cgroup rw\n",
						 own[i], &m),
				 0);
		assert_null(m.v2.point);
		mr_mounts_deinit(&m);
	}
}

static void first_mount_that_shows_us_wins(void **state)
{
	struct mr_mounts m;

	(void)state;
	assert_int_equal(mr_mounts_parse("1 2 0:3 /else /a rw - cgroup2 c rw\n"
					 "1 2 0:3 / /b\\040c\\134 rw - cgroup2 c rw\n"
					 "1 2 0:3 / /d rw - cgroup2 c rw",
					 "0::/x\n", &m),
			 0);
	assert_string_equal(m.v2.point, "/b c\\");
	mr_mounts_deinit(&m);
}

static void broken_lines_are_passed_over(void **state)
{
	static const char *const texts[] = { "",
					     "\n\n",
					     "1",
					     "1 2 0:3",
					     "1 2 0:3 / /a rw cgroup2 c rw\n",
					     "1 2 0:3 / /a rw -",
					     "1 2 0:3 / /a rw - cgroup2evil c rw\n",
					     "- - - - - - - cgroup2\n",
					     "\\040 \\0 \\" };
	struct mr_mounts m;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
		assert_int_equal(mr_mounts_parse(texts[i], "0::/\n", &m), 0);
		assert_null(m.v2.point);
		mr_mounts_deinit(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hybrid),
		cmocka_unit_test(root_of_the_mount_is_taken_off),
		cmocka_unit_test(groups_we_cannot_see_are_not_used),
		cmocka_unit_test(first_mount_that_shows_us_wins),
		cmocka_unit_test(broken_lines_are_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
