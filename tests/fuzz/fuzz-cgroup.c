/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz: every reader of kernel text in cgroups/
 *
 * The first byte chooses the reader, the rest is the file.  Beyond not crashing:
 * numbers found must be readable twice alike, and what is not read is unknown.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cgroups/hierarchy.h"
#include "cgroups/mounts.h"
#include "cgroups/stats.h"
#include "cgroups/tree.h"
#include "runtime/base/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_stats(const struct mr_hierarchy_ops *ops, const char *text)
{
	for (size_t i = 0; i < ops->n_stats; i++) {
		struct mr_cgroup_stats a, b;

		mr_stats_init(&a);
		mr_stats_init(&b);
		mr_stats_parse(&ops->stats[i], text, &a);
		mr_stats_parse(&ops->stats[i], text, &b);
		mr_assert(memcmp(&a, &b, sizeof(a)) == 0);
		mr_assert(!a.memory_peak_source == (a.memory_peak_bytes == MR_STAT_UNKNOWN));
	}
}

/* Own group and mounts in one text, cut at the first NUL. */
static void read_mounts(const char *text, size_t size)
{
	const char *own = memchr(text, '\0', size);
	struct mr_mounts m;

	if (mr_mounts_parse(text, own ? own + 1 : "0::/a/b\n4:memory,pids:/a\n1:cpu:/\n", &m) < 0)
		return;
	if (m.v2.point)
		mr_assert(m.v2.own && m.v2.below && m.v2.own[0] == '/' && m.v2.below[0] != '/');
	mr_mounts_deinit(&m);
}

static void read_pids(const char *text, size_t size)
{
	struct mr_tree_scan whole = { 0 }, parts = { 0 };
	pid_t a[16] = { 0 }, b[16] = { 0 };

	if (size > 0)
		mr_tree_scan(&whole, text, size, a, 16);
	mr_tree_scan(&whole, NULL, 0, a, 16);
	for (size_t i = 0; i < size; i++)
		mr_tree_scan(&parts, text + i, 1, b, 16);
	mr_tree_scan(&parts, NULL, 0, b, 16);
	mr_assert(whole.count == parts.count && memcmp(a, b, sizeof(a)) == 0);
}

static void read_limit(const char *text)
{
	uint64_t value = 77;
	const char *rest = mr_limits_parse(text, &value);

	mr_assert(rest ? rest > text : value == 77);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size == 0)
		return 0;
	/* Exactly as long as the data, so that reading past its end is seen. */
	text = malloc(size);
	mr_assert(text);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	switch (data[0] % 7) {
	case 0:
		read_stats(&mr_v2_ops, text);
		break;
	case 1:
		read_stats(&mr_v1_ops, text);
		break;
	case 2:
		read_mounts(text, size - 1);
		break;
	case 3:
		read_pids(text, size - 1);
		break;
	case 4:
		read_limit(text);
		break;
	case 5:
		mr_stats_keyed(text, "populated");
		break;
	case 6:
		mr_cgroup_name_ok(text);
		break;
	}
	free(text);
	return 0;
}
