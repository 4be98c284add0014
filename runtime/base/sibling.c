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

int mr_sibling_find(const char *name, char ret[MR_SIBLING_MAX], struct mr_error *err)
{
	static const char *const places[] = { "", "/../libexec/menace", "/../../bin" };
	char self[PATH_MAX], path[MR_SIBLING_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (n < 0)
		return mr_err(err, MR_E_SYS, errno, "read /proc/self/exe: %m");
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return mr_err(err, MR_E_SYS, ENOENT, "/proc/self/exe is %.100s", self);
	*slash = '\0';
	for (size_t i = 0; i < N_ELEMENTS(places); i++) {
		int len = snprintf(path, sizeof(path), "%s%s/%s", self, places[i], name);

		if (len < 0 || (size_t)len >= sizeof(path) || access(path, X_OK) < 0)
			continue;
		memcpy(ret, path, (size_t)len + 1);
		return 0;
	}
	return mr_err(err, MR_E_KERNEL, ENOENT, "%s is neither in %.100s nor in libexec", name,
		      self);
}
