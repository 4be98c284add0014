/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peek
 *
 * The slot of a run may be given to another between two look-ups: the generation in
 * both places tells.
 */
#include "bpf/peek.h"

#include "bpf/pins.h"
#include "bpf/sys.h"
#include "runtime/base/cleanup.h"

static int open_pinned(const char *root, const char *name)
{
	char set[MR_PINS_PATH_MAX], dir[MR_PINS_PATH_MAX], path[MR_PINS_PATH_MAX];

	mr_pins_set_name(set);
	if (mr_pins_join(dir, root, set, NULL) < 0 || mr_pins_join(path, dir, name, NULL) < 0)
		return -1;
	return mr_bpf_get(path);
}

void mr_peek_open(struct mr_peek *peek)
{
	char root[MR_PINS_PATH_MAX];

	*peek = (struct mr_peek){ -1, -1 };
	if (mr_pins_root(root, NULL) != 0)
		return;
	peek->runs_fd = open_pinned(root, "runs");
	peek->slots_fd = open_pinned(root, "slots");
}

void mr_peek_close(struct mr_peek *peek)
{
	peek->runs_fd = mr_close(peek->runs_fd);
	peek->slots_fd = mr_close(peek->slots_fd);
}

int mr_peek_counts(const struct mr_peek *peek, uint64_t cgroup_id, struct mr_wire_slot *ret)
{
	struct mr_wire_run run;

	if (peek->runs_fd < 0 || peek->slots_fd < 0 ||
	    mr_bpf_map_lookup(peek->runs_fd, &cgroup_id, &run) < 0 ||
	    mr_bpf_map_lookup(peek->slots_fd, &run.slot, ret) < 0)
		return 1;
	return ret->generation == run.generation ? 0 : 1;
}
