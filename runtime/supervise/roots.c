/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Roots
 *
 * A tree is known by what was put into it: the ids and the host name, which are in files of its /etc.
 * Its age is that of the oldest of its file systems, not of the last copy.
 */
#include "runtime/supervise/roots.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"
#include "runtime/supervise/state.h"

#define SLOTS 64

struct kept {
	int fd; /* -1: none */
	uint64_t made_ns;
	uid_t uid;
	gid_t gid;
	char *hostname;
};

struct mr_roots {
	struct kept slots[SLOTS];
};

struct mr_roots *mr_roots_new(void)
{
	struct mr_roots *roots = mr_str_alloc(sizeof(*roots));

	for (size_t i = 0; i < SLOTS; i++)
		roots->slots[i].fd = -1;
	return roots;
}

static void drop(struct kept *kept)
{
	mr_close(kept->fd);
	free(kept->hostname);
	*kept = (struct kept){ .fd = -1 };
}

struct mr_roots *mr_roots_free(struct mr_roots *roots)
{
	for (size_t i = 0; roots && i < SLOTS; i++)
		drop(&roots->slots[i]);
	free(roots);
	return NULL;
}

static bool will_do(const struct kept *kept, const struct mr_spec *spec, const struct mr_ids *ids)
{
	return kept->fd >= 0 && mr_now_ns() - kept->made_ns < MR_PATIENCE_NS(ROOTS_AGE) &&
	       kept->uid == ids->uid && kept->gid == ids->gid &&
	       strcmp(kept->hostname, spec->sandbox_hostname) == 0;
}

int mr_roots_take(struct mr_run *run, struct mr_launch_opts *opts, struct mr_error *err)
{
	struct kept *kept;
	struct mr_ids ids;
	int r;

	opts->kept_root = -1;
	if (!run->host->roots || opts->slot >= SLOTS)
		return 0;
	r = mr_launch_ids(opts->spec, opts->slot, &ids, err);
	if (r < 0 || !mr_launch_shares_root(opts->spec, &ids))
		return r;
	kept = &run->host->roots->slots[opts->slot];
	opts->keeps_root = true;
	run->root_made_ns = mr_now_ns();
	if (will_do(kept, opts->spec, &ids)) {
		run->root_made_ns = kept->made_ns;
		opts->kept_root = mr_take_fd(kept->fd);
	}
	drop(kept);
	return 0;
}

void mr_roots_keep(struct mr_run *run, int fd)
{
	struct kept *kept;

	if (fd < 0 || !run->host->roots || run->opts.slot >= SLOTS) {
		mr_close(fd);
		return;
	}
	kept = &run->host->roots->slots[run->opts.slot];
	drop(kept);
	*kept = (struct kept){ .fd = fd,
			       .made_ns = run->root_made_ns,
			       .uid = run->launched.ids.uid,
			       .gid = run->launched.ids.gid,
			       .hostname = mr_str_dup(run->spec->sandbox_hostname) };
}
