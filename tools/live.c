/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live
 *
 * Leases say which runs there are and where their control groups lie; the rest is
 * read there.  A run may end while it is looked at: then it is left out.
 */
#include "tools/live.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/peek.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "tools/cmd.h"

#define INIT_PIDS 1 /* the sandbox's own init */

/* 'T' of "PID (COMM) STATE ...": the shell's Ctrl-Z. */
static bool is_stopped(pid_t pid)
{
	char path[40], stat[512];
	const char *end;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (mr_read_file_at(AT_FDCWD, path, stat, sizeof(stat)) <= 0)
		return false;
	end = strrchr(stat, ')');
	return end && end[1] == ' ' && end[2] == 'T';
}

static void read_limits(const struct mr_cgroup *cg, struct mr_live_row *row)
{
	struct mr_cgroup_shown shown[16];
	size_t n = 0;

	if (mr_cgroup_show_limits(cg, shown, N_ELEMENTS(shown), &n, NULL) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(shown[i].key, "memory_max_bytes") == 0)
			row->memory_max = shown[i].value;
		if (strcmp(shown[i].key, "pids_max") == 0)
			row->pids_max = shown[i].value;
	}
}

static void read_group(const struct mr_cgroup *cg, const struct mr_peek *peek,
		       struct mr_live_row *row)
{
	struct mr_wire_slot counts;

	mr_cgroup_stats(cg, &row->stats, NULL);
	if (row->stats.pids_current != MR_STAT_UNKNOWN && row->stats.pids_current >= INIT_PIDS)
		row->stats.pids_current -= INIT_PIDS;
	read_limits(cg, row);
	if (mr_cgroup_populated(cg, NULL) > 0)
		row->state = is_stopped(row->run.info.pid) ? "suspended" : "running";
	else if (row->stats.cpu_usage_us != MR_STAT_UNKNOWN && row->stats.cpu_usage_us > 0)
		row->state = "ending";
	row->has_counts = mr_peek_counts(peek, mr_cgroup_id(cg), &counts) == 0;
	if (row->has_counts) {
		row->forks = counts.counters[MR_COUNTER_forks];
		row->execs = counts.counters[MR_COUNTER_execs];
	}
}

static void read_run(const struct mr_peek *peek, struct mr_live_row *row)
{
	struct mr_cgroup_host *host = NULL;
	struct mr_cgroup *cg = NULL;
	int r;

	row->memory_max = row->pids_max = MR_UNLIMITED;
	memset(&row->stats, 0xff, sizeof(row->stats)); /* MR_STAT_UNKNOWN in each */
	row->stats.memory_peak_source = NULL;
	if (mr_cgroup_host_at(row->run.info.bases, &host, NULL) == 0) {
		r = mr_cgroup_open(host, row->run.info.id, INIT_PIDS, &cg, NULL);
		row->state = r >= 0 ? "starting" : NULL;
		if (r == 0)
			read_group(cg, peek, row);
	}
	mr_cgroup_free(cg);
	mr_cgroup_host_free(host);
	row->taken_ns = mr_now_ns();
	/* A user who writes a lease may write one that begins tomorrow. */
	row->age_ns = row->taken_ns >= row->run.info.begin_ns
			      ? row->taken_ns - row->run.info.begin_ns
			      : MR_STAT_UNKNOWN;
}

static const struct mr_live_row *find_before(const struct mr_live *before, const char *id)
{
	for (size_t i = 0; i < before->n; i++)
		if (strcmp(before->rows[i].run.info.id, id) == 0)
			return &before->rows[i];
	return NULL;
}

static double cpu_share(const struct mr_live_row *row, const struct mr_live_row *before)
{
	uint64_t since = row->run.info.begin_ns, used = row->stats.cpu_usage_us;

	if (used == MR_STAT_UNKNOWN)
		return -1;
	if (before && before->stats.cpu_usage_us <= used) {
		since = before->taken_ns;
		used -= before->stats.cpu_usage_us;
	}
	return row->taken_ns > since ? (double)used * 100000 / (double)(row->taken_ns - since) : -1;
}

int mr_live_take(const struct mr_live *before, struct mr_live *ret, struct mr_error *err)
{
	struct mr_living *runs = NULL;
	struct mr_peek peek;
	size_t n = 0;
	int r = mr_living_list(&runs, &n, err);

	if (r < 0)
		return r;
	mr_peek_open(&peek);
	ret->rows = mr_str_alloc((n + 1) * sizeof(*ret->rows));
	ret->n = n;
	for (size_t i = 0; i < n; i++) {
		struct mr_live_row *row = &ret->rows[i];

		row->run = runs[i];
		read_run(&peek, row);
		row->cpu_percent = cpu_share(row, find_before(before, row->run.info.id));
	}
	mr_peek_close(&peek);
	free(runs); /* what is in them is ours now */
	return 0;
}

void mr_live_deinit(struct mr_live *live)
{
	for (size_t i = 0; i < live->n; i++) {
		mr_lease_info_deinit(&live->rows[i].run.info);
		free(live->rows[i].run.folder);
	}
	free(live->rows);
	*live = (struct mr_live){ .n = 0 };
}

/* --- order --------------------------------------------------------------------------------- */

static double key_of(const struct mr_live_row *row, enum mr_live_sort by)
{
	switch (by) {
	case MR_LIVE_CPU:
		return row->cpu_percent;
	case MR_LIVE_MEMORY:
		return row->stats.memory_current_bytes == MR_STAT_UNKNOWN
			       ? -1
			       : (double)row->stats.memory_current_bytes;
	case MR_LIVE_TIME:
		return -(double)row->run.info.begin_ns;
	case MR_LIVE_PIDS:
		return row->stats.pids_current == MR_STAT_UNKNOWN ? -1
								  : (double)row->stats.pids_current;
	}
	return 0;
}

static int by_key(const void *a, const void *b, void *arg)
{
	const struct mr_live_row *x = a, *y = b;
	const enum mr_live_sort *by = arg;
	double kx = key_of(x, *by), ky = key_of(y, *by);

	if (kx > ky || kx < ky)
		return kx > ky ? -1 : 1;
	return strcmp(x->run.info.id, y->run.info.id);
}

void mr_live_sort(struct mr_live *live, enum mr_live_sort by)
{
	if (live->n)
		qsort_r(live->rows, live->n, sizeof(*live->rows), by_key, &by);
}

/* --- JSON ---------------------------------------------------------------------------------- */

static json_t *number(uint64_t n)
{
	return n == MR_STAT_UNKNOWN ? json_null() : json_integer((json_int_t)n);
}

/* Bytes of a lease: what is no text is shown as escapes. */
static json_t *words(const char *bytes)
{
	mr_auto_free char *copy = NULL;

	if (!bytes || !bytes[0])
		return json_null();
	if (mr_str_utf8_valid(bytes, strlen(bytes)))
		return json_string(bytes);
	copy = mr_str_alloc(4 * strlen(bytes) + 1);
	for (char *out = copy; *bytes; bytes++)
		out += (unsigned char)*bytes < 0x80
			       ? (*out = *bytes, 1)
			       : snprintf(out, 5, "\\x%02x", (unsigned char)*bytes);
	return json_string(copy);
}

json_t *mr_live_json(const struct mr_live_row *row)
{
	const struct mr_cgroup_stats *s = &row->stats;
	const struct mr_lease_info *info = &row->run.info;
	json_t *json = json_pack(
		"{s:s, s:o, s:o, s:I, s:I, s:s?, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
		"run_id", info->id, "name", words(info->name), "program", words(info->program),
		"uid", (json_int_t)info->uid, "supervisor_pid", (json_int_t)info->pid, "state",
		row->state, "age_us",
		number(row->age_ns == MR_STAT_UNKNOWN ? MR_STAT_UNKNOWN : row->age_ns / 1000),
		"cpu_percent", row->cpu_percent < 0 ? json_null() : json_real(row->cpu_percent),
		"cpu_us", number(s->cpu_usage_us), "memory_bytes", number(s->memory_current_bytes),
		"memory_peak_bytes", number(s->memory_peak_bytes), "memory_max_bytes",
		number(row->memory_max), "pids", number(s->pids_current), "pids_max",
		number(row->pids_max), "io_read_bytes", number(s->io_read_bytes), "io_write_bytes",
		number(s->io_write_bytes));

	mr_assert(json);
	json_object_set_new(json, "forks", row->has_counts ? number(row->forks) : json_null());
	json_object_set_new(json, "execs", row->has_counts ? number(row->execs) : json_null());
	return json;
}
