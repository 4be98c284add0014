/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guard: what is said of it is what the kernel shows
 * kernel
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpf/guard.h"
#include "bpf/sys.h"
#include "cgroups/cgroup.h"
#include "runtime/base/error.h"

static struct mr_cgroup_host *host;

static int detach(int link)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.link_detach.link_fd = (uint32_t)link;
	return mr_bpf(BPF_LINK_DETACH, &attr, sizeof(attr));
}

static void each_program_hangs_where_it_is_said_to(void **state)
{
	const struct mr_limits limits = { .memory_max = MR_UNLIMITED,
					  .swap_max = MR_UNLIMITED,
					  .pids_max = MR_UNLIMITED,
					  .cpu_quota_us = MR_UNLIMITED };
	struct mr_guard guard = MR_GUARD_INIT;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_cgroup *group;
	char name[40];

	(void)state;
	snprintf(name, sizeof(name), "test-guard-%d", getpid());
	assert_int_equal(mr_cgroup_new(host, name, &limits, 0, &group, &err), 0);
	assert_int_equal(mr_guard_attach(&guard, MR_GUARD_CONNECTS, mr_cgroup_v2_fd(group), &err),
			 0);
	assert_int_equal(mr_guard_verify(&guard, mr_cgroup_id(group), &err), 0);
	assert_int_equal(mr_guard_verify(&guard, mr_cgroup_id(group) + 1, &err), -EPERM);
	assert_non_null(strstr(err.msg, "menace_connect4 hangs at "));
	assert_int_equal(detach(guard.links[2]), 0);
	assert_int_equal(mr_guard_verify(&guard, mr_cgroup_id(group), &err), -EPERM);
	assert_non_null(strstr(err.msg, "menace_send4 hangs at "));
	mr_guard_detach(&guard);
	assert_int_equal(mr_cgroup_destroy(group, &err), 0);
	mr_cgroup_free(group);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_program_hangs_where_it_is_said_to),
	};
	struct mr_error err = MR_ERROR_INIT;
	int r;

	if (geteuid() != 0) {
		printf("SKIP: not root\n");
		return 77;
	}
	if (mr_cgroup_detect(&host, &err) < 0 || mr_cgroup_host_mode(host) == MR_CGROUP_NONE) {
		printf("SKIP: no control groups: %s\n", host ? mr_cgroup_host_why(host) : err.msg);
		return 77;
	}
	r = cmocka_run_group_tests(tests, NULL, NULL);
	mr_cgroup_host_free(host);
	return r;
}
