/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sibling
 */
#include "runtime/base/sibling.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

static char only[PATH_MAX]; /* "": not said */

void mr_sibling_look_in(const char *folder)
{
	snprintf(only, sizeof(only), "%s", folder);
}

/* The folder of our own executable. */
static int find_own(char ret[PATH_MAX], struct mr_error *err)
{
	ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 1);
	char *slash;

	if (n < 0)
		return mr_err(err, MR_E_SYS, errno, "read /proc/self/exe: %m");
	ret[n] = '\0';
	slash = strrchr(ret, '/');
	if (!slash)
		return mr_err(err, MR_E_SYS, ENOENT, "/proc/self/exe is %.100s", ret);
	*slash = '\0';
	return 0;
}

int mr_sibling_find(const char *name, char ret[MR_SIBLING_MAX], struct mr_error *err)
{
	static const char *const places[] = { "", "/../libexec/menace", "/../../bin" };
	const size_t n = only[0] ? 1 : N_ELEMENTS(places);
	char own[PATH_MAX], path[MR_SIBLING_MAX];
	const char *folder = only[0] ? only : own;
	int r = only[0] ? 0 : find_own(own, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		int len = snprintf(path, sizeof(path), "%s%s/%s", folder, places[i], name);

		if (len < 0 || (size_t)len >= sizeof(path) || access(path, X_OK) < 0)
			continue;
		memcpy(ret, path, (size_t)len + 1);
		return 0;
	}
	return mr_err(err, MR_E_KERNEL, ENOENT, "%s is neither in %.100s nor in libexec", name,
		      folder);
}
