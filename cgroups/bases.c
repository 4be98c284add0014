/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bases: where a run's groups are, written down and found again
 *
 * BASE is the supervisor's own group, so two supervisors may have two.  A lease
 * records the directories; the sweep opens exactly those, and only if they are
 * on a cgroup file system.
 */
#include "cgroups/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cgroups/hierarchy.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

int mr_cgroup_host_bases(const struct mr_cgroup_host *host, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < host->n; i++) {
		int n = snprintf(buf + used, size - used, "%s\n", host->h[i].dir);

		if (n < 0 || (size_t)n >= size - used)
			return -ENAMETOOLONG;
		used += (size_t)n;
	}
	return (int)used;
}

/* One line. 0 added, 1 not there any more. */
static int add_base(struct mr_cgroup_host *host, const char *dir, struct mr_error *err)
{
	mr_auto_close int fd = open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct mr_hierarchy *h = &host->h[host->n];
	struct statfs fs;

	if (fd < 0 && errno == ENOENT)
		return 1;
	if (fd < 0 || fstatfs(fd, &fs) < 0)
		return mr_err(err, MR_E_SYS, errno, "open control group %s: %m", dir);
	if (host->n == MR_HIERARCHIES_MAX ||
	    (fs.f_type != CGROUP_SUPER_MAGIC && fs.f_type != CGROUP2_SUPER_MAGIC))
		return mr_err(err, MR_E_PROTO, EINVAL, "%s is no place of control groups", dir);
	h->ops = fs.f_type == CGROUP2_SUPER_MAGIC ? &mr_v2_ops : &mr_v1_ops;
	h->base_fd = mr_take_fd(fd);
	h->dir = strdup(dir);
	h->path = strdup(dir);
	mr_assert(h->dir && h->path);
	host->n++;
	return 0;
}

int mr_cgroup_host_at(const char *bases, struct mr_cgroup_host **ret, struct mr_error *err)
{
	struct mr_cgroup_host *host = calloc(1, sizeof(*host));
	mr_auto_free char *text = strdup(bases);
	char *save = NULL;
	int r = 0;

	mr_assert(host && text);
	for (char *dir = strtok_r(text, "\n", &save); dir && r >= 0;
	     dir = strtok_r(NULL, "\n", &save))
		r = add_base(host, dir, err);
	/* Without the v2 group nothing of the run is left: it goes last. */
	if (r >= 0 && (host->n == 0 || host->h[0].ops != &mr_v2_ops)) {
		*ret = mr_cgroup_host_free(host);
		return 1;
	}
	if (r < 0) {
		mr_cgroup_host_free(host);
		return r;
	}
	host->mode = host->n > 1 ? MR_CGROUP_HYBRID : MR_CGROUP_V2;
	*ret = host;
	return 0;
}
