/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, mounts
 *
 * Judged by what this process sees mounted: an engine of this host has it from the same place, unless it
 * is kept in a mount namespace of its own.
 */
#include "runtime/backend/docker_mounts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/backend/docker_http.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/mountinfo.h"
#include "runtime/base/str.h"

#define API_FORCES 44

bool mr_docker_mounts_forces(const struct mr_docker *docker)
{
	/* No such descriptor: whoever has the call says so. */
	return mr_docker_api(docker) >= API_FORCES &&
	       syscall(SYS_mount_setattr, -1, "", 0, NULL, (size_t)0) < 0 && errno != ENOSYS &&
	       errno != EPERM;
}

/* The source of a mount that the engine makes read-only at its top alone, as the kernel names it: malloc'd;
 * NULL: it is another, or not there, which the engine says. */
static char *shallow_source(const json_t *mount)
{
	const char *source = json_string_value(json_object_get(mount, "Source"));

	if (!source || !json_is_true(json_object_get(mount, "ReadOnly")) ||
	    json_is_true(mr_json_at(mount, "BindOptions", "ReadOnlyForceRecursive", NULL)))
		return NULL;
	return realpath(source, NULL);
}

static int check_mount(const char *source, struct mr_error *err)
{
	const char *folder = strcmp(source, "/") == 0 ? "" : source;
	struct mr_mountinfo mounts;
	int r = mr_mountinfo_open(&mounts);

	while (r >= 0 && (r = mr_mountinfo_next(&mounts)) > 0) {
		if (mounts.read_only || strcmp(mounts.point, source) == 0 ||
		    !mr_str_is_under(mounts.point, folder))
			continue;
		r = mr_err(
			err, MR_E_KERNEL, EOPNOTSUPP,
			"%.200s would be shown writable: it is mounted below %.100s, of which this "
			"engine makes only the top read-only; unmount it, show another folder, or "
			"have Docker 25 or newer on Linux 5.12 or newer",
			mounts.point, source);
		mr_mountinfo_close(&mounts);
		return r;
	}
	mr_mountinfo_close(&mounts);
	return r < 0 ? mr_err(err, MR_E_SYS, -r, "read /proc/self/mountinfo: %m") : 0;
}

int mr_docker_mounts_check(const json_t *body, struct mr_error *err)
{
	const json_t *mounts = mr_json_at(body, "HostConfig", "Mounts", NULL);
	int r = 0;

	for (size_t i = 0; r == 0 && i < json_array_size(mounts); i++) {
		mr_auto_free char *source = shallow_source(json_array_get(mounts, i));

		if (source)
			r = check_mount(source, err);
	}
	return r;
}
