/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The owner of a workspace that a guest is to see: shown as the payload, or it is said for which folder
 * that cannot be and what to do
 *
 * A mount that has been mapped once is not mapped again, which is EPERM.
 * kernel
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/backend/qemu_share.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/launch/steps.h"

#define OWNER 1234
#define SHOWN 5678

static char folder[] = "/tmp/menace-test-share.XXXXXX";
static char workspace[sizeof(folder) + sizeof("/w")];
static bool mapped; /* false: this kernel maps no tmpfs */

/* The folder shows as SHOWN's, of whom it is not. */
static int map_workspace(void)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP };
	struct mr_error err = MR_ERROR_INIT;
	int userns = mr_idmap_userns_fd(OWNER, SHOWN, OWNER, SHOWN, &err);
	int tree = (int)syscall(SYS_open_tree, AT_FDCWD, workspace,
				OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (userns < 0 || tree < 0)
		return -1;
	attr.userns_fd = (uint64_t)userns;
	mapped = syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == 0;
	if (mapped &&
	    syscall(SYS_move_mount, tree, "", AT_FDCWD, workspace, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return -1;
	close(tree);
	close(userns);
	return mapped || errno == EINVAL ? 0 : -1;
}

static int set_up(void **state)
{
	(void)state;
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    !mkdtemp(folder) || mount("test", folder, "tmpfs", 0, NULL) < 0)
		return -1;
	snprintf(workspace, sizeof(workspace), "%s/w", folder);
	if (mkdir(workspace, 0755) < 0 || chown(workspace, OWNER, OWNER) < 0)
		return -1;
	return map_workspace();
}

static int tear_down(void **state)
{
	(void)state;
	if (mapped && umount(workspace) < 0)
		return -1;
	return umount(folder) < 0 || rmdir(folder) < 0 ? -1 : 0;
}

/* What it comes to: "" when virtiofsd was started, or could be if it were there. */
static void start(uid_t uid, bool bears, struct mr_error *err)
{
	struct mr_share share = { .has_ids = true,
				  .ids = { .host_uid = uid, .host_gid = uid },
				  .workspace = strdup(workspace),
				  .bears_owner = bears };
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC), socket = -1;
	pid_t pid = 0;

	*err = (struct mr_error)MR_ERROR_INIT;
	assert_true(null >= 0 && share.workspace);
	mr_share_add(&share, workspace);
	if (mr_share_start_virtiofs(&share, NULL, null, &socket, &pid, err) == 0) {
		close(socket);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		assert_string_equal(err->msg, "");
	} else if (strstr(err->msg, "start /usr/lib/qemu/virtiofsd: No such file")) {
		err->msg[0] = '\0';
	}
	close(null);
	mr_share_deinit(&share);
}

static void need_mapping(void)
{
	if (mapped)
		return;
	print_message("SKIP: no idmapped mounts of tmpfs\n");
	skip();
}

static void test_one_that_cannot_be_mapped_is_named_with_what_to_do(void **state)
{
	char want[400];
	struct mr_error err;

	(void)state;
	need_mapping();
	start(SHOWN + 1, false, &err);
	snprintf(want, sizeof(want),
		 "share files: %s: this kernel cannot show its owner as the payload (idmapped "
		 "mount): "
		 "Operation not permitted; use a directory of another mount, --uid %u --gid %u, or "
		 "--best-effort workspace-idmap",
		 workspace, SHOWN, SHOWN);
	assert_string_equal(err.msg, want);
	assert_int_equal(err.errnum, EPERM);
}

static void test_one_that_is_the_payloads_needs_no_mapping(void **state)
{
	struct mr_error err;

	(void)state;
	need_mapping();
	start(SHOWN, false, &err);
	assert_string_equal(err.msg, "");
}

static void test_one_that_cannot_be_mapped_can_be_borne(void **state)
{
	struct mr_error err;

	(void)state;
	need_mapping();
	start(SHOWN + 1, true, &err);
	assert_string_equal(err.msg, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_that_cannot_be_mapped_is_named_with_what_to_do),
		cmocka_unit_test(test_one_that_is_the_payloads_needs_no_mapping),
		cmocka_unit_test(test_one_that_cannot_be_mapped_can_be_borne),
	};

	if (geteuid() != 0) {
		printf("SKIP: not root\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
