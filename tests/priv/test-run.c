/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run: what is not its own it leaves alone, at whatever point it ends
 * kernel
 * security
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cgroups/cgroup.h"
#include "runtime/base/error.h"
#include "runtime/base/loop.h"
#include "runtime/spec/spec.h"
#include "runtime/supervise/run.h"

#define OTHERS 256

static struct mr_run_host host;

static void make_spec(struct mr_spec *spec, const char *text)
{
	struct mr_error err = MR_ERROR_INIT;

	mr_spec_init(spec);
	if (mr_spec_parse_json(spec, text, strlen(text), "test", &err) < 0 ||
	    mr_spec_validate(spec, &err) < 0)
		fail_msg("%s", err.msg);
}

static struct mr_run *run_to_its_end(const struct mr_spec *spec)
{
	const struct mr_run_opts opts = {
		.spec = spec, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1
	};
	struct mr_run *run = mr_run_start(&host, &opts);
	struct mr_error err = MR_ERROR_INIT;

	while (!mr_run_is_done(run))
		if (mr_loop_run_once(host.loop, -1, &err) < 0)
			fail_msg("%s", err.msg);
	return run;
}

/* Its input's number, once it is closed, is anybody's: in a batch the lease of another run's. */
static void an_input_is_closed_once(void **state)
{
	struct mr_run *run;
	struct mr_spec spec;
	int others[OTHERS], closed = 0;

	(void)state;
	make_spec(&spec, "{\"schema\": \"menace.spec/1\", \"program\": [\"true\"],"
			 " \"sandbox\": {\"cwd\": \"/none\", \"stdin_path\": \"/dev/null\"},"
			 " \"failure\": {\"modes\": \"hostile_input\"}}");
	run = run_to_its_end(&spec);
	assert_non_null(mr_run_error(run));
	assert_non_null(strstr(mr_run_error(run)->msg, "/none"));
	for (size_t i = 0; i < OTHERS; i++) {
		others[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		assert_true(others[i] >= 0);
	}
	mr_run_free(run);
	for (size_t i = 0; i < OTHERS; i++)
		closed += close(others[i]) < 0;
	assert_int_equal(closed, 0);
	mr_spec_deinit(&spec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_input_is_closed_once),
	};
	struct mr_error err = MR_ERROR_INIT;
	int r;

	if (geteuid() != 0) {
		printf("SKIP: not root\n");
		return 77;
	}
	if (mr_run_host_open(&host, &err) < 0 ||
	    mr_cgroup_host_mode(host.cgroups) == MR_CGROUP_NONE) {
		printf("SKIP: no control groups: %s\n",
		       host.cgroups ? mr_cgroup_host_why(host.cgroups) : err.msg);
		return 77;
	}
	r = cmocka_run_group_tests(tests, NULL, NULL);
	mr_run_host_close(&host);
	return r;
}
