/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pins: names and locks
 *
 * A bpf file system holds no files, but its folders can be locked like any: flock()
 * goes with the descriptor, so the death of whoever holds it is its end.
 */
#include "bpf/pins.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "bpf/build-id.h"
#include "bpf/wire.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

static const struct mr_probe_row rows[] = {
#define PROBE(name, object, program, kind, target, level, needs, help) \
	{ #name, #object, #program, MR_PROBE_##kind, target, MR_PROBE_LEVEL_##level, needs, help },
#include "bpf/probes.def"
#undef PROBE
};

_Static_assert(N_ELEMENTS(rows) == MR_ROW_COUNT_, "a bit for each");

const struct mr_probe_row *mr_probe_rows(size_t *ret_n)
{
	*ret_n = N_ELEMENTS(rows);
	return rows;
}

bool mr_probe_is_first_of_object(size_t row)
{
	for (size_t i = 0; i < row; i++)
		if (strcmp(rows[i].object, rows[row].object) == 0)
			return false;
	return true;
}

const char *mr_probe_level_name(enum mr_probe_level level)
{
	static const char *const names[] = {
		[MR_PROBE_LEVEL_OFF] = "off",		[MR_PROBE_LEVEL_BASIC] = "basic",
		[MR_PROBE_LEVEL_DEFAULT] = "default",	[MR_PROBE_LEVEL_FULL] = "full",
		[MR_PROBE_LEVEL_SYSCALLS] = "syscalls",
	};

	return names[level];
}

static bool is_bpffs(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && (unsigned long)fs.f_type == BPF_FS_MAGIC;
}

/* Where others can make folders (a bpf file system is open to all unless it was mounted otherwise)
 * they could put a set of their own before ours. */
static bool is_root_alone(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_uid == 0 && !(st.st_mode & 022);
}

int mr_pins_root(char ret[MR_PINS_PATH_MAX], struct mr_error *err)
{
	static const char *const usual[] = { "/run/menace/bpf", "/sys/fs/bpf" };
	const char *own = getenv("MENACE_BPF_DIR");

	if (geteuid() != 0)
		return mr_err(err, MR_E_DENIED, EPERM,
			      "programs in the kernel need root (CAP_BPF and CAP_PERFMON)");
	if (own && own[0]) {
		if (strlen(own) >= MR_PINS_PATH_MAX / 2 || !is_bpffs(own))
			return mr_err(err, MR_E_USAGE, EINVAL,
				      "MENACE_BPF_DIR: %.120s is no bpf file system", own);
		snprintf(ret, MR_PINS_PATH_MAX, "%s", own);
		return 0;
	}
	for (size_t i = 0; i < N_ELEMENTS(usual); i++) {
		snprintf(ret, MR_PINS_PATH_MAX, "%s", usual[i]);
		if (is_bpffs(usual[i]) && is_root_alone(usual[i]))
			return 0;
	}
	snprintf(ret, MR_PINS_PATH_MAX, "%s", usual[0]);
	return 1;
}

void mr_pins_set_name(char ret[MR_PINS_PATH_MAX])
{
	snprintf(ret, MR_PINS_PATH_MAX, MR_PINS_PREFIX "%s-%d", MR_BPF_BUILD_ID, MR_WIRE_VERSION);
}

int mr_pins_join(char ret[MR_PINS_PATH_MAX], const char *dir, const char *name,
		 struct mr_error *err)
{
	int n = snprintf(ret, MR_PINS_PATH_MAX, "%s/%s", dir, name);

	if (n < 0 || n >= MR_PINS_PATH_MAX)
		return mr_err(err, MR_E_SYS, ENAMETOOLONG, "%.100s/%.100s: %m", dir, name);
	return 0;
}

int mr_pins_lock(const char *path, bool wait, int *ret_fd, struct mr_error *err)
{
	mr_auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int r;

	if (fd < 0 && errno == ENOENT)
		return 2;
	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "open %s: %m", path);
	do
		r = flock(fd, wait ? LOCK_EX : LOCK_EX | LOCK_NB);
	while (r < 0 && errno == EINTR);
	if (r < 0 && errno == EWOULDBLOCK)
		return 1;
	if (r < 0 || fstat(fd, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "lock %s: %m", path);
	if (st.st_nlink == 0)
		return 2;
	*ret_fd = mr_take_fd(fd);
	return 0;
}
