/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accel
 *
 * The file holds the id of the boot that it is true of.
 */
#include "runtime/backend/qemu_accel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/log.h"
#include "runtime/supervise/lease.h"

#define NAME "kvm-fails"
#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_SIZE 64

int mr_accel_open_folder(void)
{
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_close int leases = mr_lease_open_dir(&err);
	int fd;

	if (leases < 0 || (mkdirat(leases, "../qemu", 0700) < 0 && errno != EEXIST))
		return -1;
	fd = openat(leases, "../qemu", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -1 : fd;
}

static bool has_failed(int folder)
{
	mr_auto_close int fd = openat(folder, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char now[BOOT_ID_SIZE], then[BOOT_ID_SIZE] = "";
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return false;
	return mr_read_file_at(AT_FDCWD, BOOT_ID, now, sizeof(now)) > 0 &&
	       mr_read_full(fd, then, sizeof(then) - 1) > 0 && strcmp(now, then) == 0;
}

enum mr_machine_accel mr_accel_choose(int folder, const char *device)
{
	struct stat st;

	if (stat(device, &st) < 0 || !S_ISCHR(st.st_mode) || access(device, R_OK | W_OK) < 0 ||
	    (folder >= 0 && has_failed(folder)))
		return MR_ACCEL_TCG;
	return MR_ACCEL_KVM;
}

static void tell_failure(int folder, const char *why)
{
	char link[40], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = '\0';
	mr_log_notice("a machine with KVM did not come up (%s), and one without did: machines are "
		      "emulated until the next boot of this host, or until %s/" NAME " is removed",
		      why, path);
}

/* What cannot be written costs the next run the same time again. */
void mr_accel_remember_failure(int folder, const char *why)
{
	char text[BOOT_ID_SIZE];
	ssize_t n = mr_read_file_at(AT_FDCWD, BOOT_ID, text, sizeof(text));
	mr_auto_close int fd = -1;

	if (folder < 0 || n <= 0)
		return;
	unlinkat(folder, NAME, 0);
	fd = openat(folder, NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (mr_write_full(fd, text, (size_t)n) < 0)
		unlinkat(folder, NAME, 0);
	else
		tell_failure(folder, why);
}

enum mr_machine_accel mr_accel_next(const struct mr_accel_trial *trial)
{
	return trial->kvm_failed ? MR_ACCEL_TCG : mr_accel_choose(trial->folder, trial->device);
}

void mr_accel_note_mute(struct mr_accel_trial *trial, enum mr_machine_accel accel, const char *why)
{
	if (accel != MR_ACCEL_KVM)
		return;
	trial->kvm_failed = true;
	snprintf(trial->why, sizeof(trial->why), "%s", why);
}

void mr_accel_note_up(const struct mr_accel_trial *trial, enum mr_machine_accel accel)
{
	if (accel == MR_ACCEL_TCG && trial->kvm_failed)
		mr_accel_remember_failure(trial->folder, trial->why);
}
