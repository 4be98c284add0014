/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of a machine is in its group, in every hierarchy, from its first moment on
 * kernel
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/backend/qemu_group.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"

#define TEXT_MAX 4096

static size_t count(const char *text, const char *word)
{
	size_t n = 0;

	while ((text = strstr(text, word))) {
		text += strlen(word);
		n++;
	}
	return n;
}

/* In how many hierarchies this process is below a group of that name; 100: that cannot be told. */
static int hierarchies(const char *name)
{
	char text[TEXT_MAX], word[64];

	snprintf(word, sizeof(word), "/menace/%s", name);
	return mr_read_file_at(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text)) < 0
		       ? 100
		       : (int)count(text, word);
}

static int exit_status(pid_t pid)
{
	int status;

	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int hierarchies_of_forked(const struct mr_cgroup *group, const char *name)
{
	struct mr_error err = MR_ERROR_INIT;
	pid_t pid = -1;
	int r = mr_machine_fork(group, &pid, &err);

	if (pid == 0)
		_exit(r < 0 ? 100 : hierarchies(name));
	assert_int_equal(r, 0);
	return exit_status(pid);
}

/* Of a process that is moved, to compare with. */
static int hierarchies_of_moved(const struct mr_cgroup *group, const char *name)
{
	struct mr_error err = MR_ERROR_INIT;
	pid_t pid = fork();

	if (pid == 0)
		_exit(mr_cgroup_add(group, getpid(), &err) < 0 ? 100 : hierarchies(name));
	return exit_status(pid);
}

static void child_begins_in_every_group(void **state)
{
	struct mr_machine_group group = MR_MACHINE_GROUP_INIT;
	struct mr_error err = MR_ERROR_INIT;
	char name[32];
	int all;

	(void)state;
	snprintf(name, sizeof(name), "test-qemu-group-%d", (int)getpid());
	if (mr_machine_group_make(&group, name, (uint64_t)256 << 20, 50000, &err) < 0)
		fail_msg("%s", err.msg);
	if (!group.group) {
		mr_machine_group_drop(&group);
		print_message("SKIP: no control groups for machines\n");
		skip();
	}
	all = hierarchies_of_moved(group.group, name);
	assert_in_range(all, 1, 99);
	assert_int_equal(hierarchies_of_forked(group.group, name), all);
	assert_int_equal(hierarchies_of_forked(NULL, name), 0);
	mr_machine_group_drop(&group);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(child_begins_in_every_group),
	};

	if (geteuid() != 0) {
		puts("SKIP: not root");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
