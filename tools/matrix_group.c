/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Group of a matrix
 *
 * It is named by a lease like the group of a run, so that a later start removes what a
 * killed matrix leaves; the name is no id of a run, and nobody takes it for one.  No process
 * is in the group itself: those of ours that make sandboxes stay outside, where its
 * limit of memory cannot end them.
 */
#include "tools/matrix_group.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgroups/cgroup.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"
#include "runtime/supervise/lease.h"

#define CPU_PERIOD_US 100000
#define NAME_SUFFIX ".matrix"
#define SHOWN_MAX 8

struct mr_matrix_group {
	struct mr_matrix_group_opts opts;
	struct mr_cgroup_host *host;
	struct mr_cgroup *cg; /* NULL: by accounting alone */
	char name[MR_RUN_ID_SIZE + sizeof(NAME_SUFFIX)];
	int lease_dir, lease_fd;
	char *why; /* there is no group, or NULL */
	json_t *lacks; /* {controller: why its limit is by accounting alone} */
	json_t *limits; /* {key: {value, file}}, as read back */
	uint64_t pids_max; /* as read back, without processes of ours */
	json_int_t runs, outside, ooms;
	json_t *outside_why; /* {why: how many} */
};

/* --- making ---------------------------------------------------------------- */

static bool has(struct mr_matrix_group *g, enum mr_controller controller)
{
	const char *why = mr_cgroup_host_lacks(g->host, controller);

	if (why)
		json_object_set_new(g->lacks, mr_limits_controller_name(controller),
				    json_string(why));
	return !why;
}

static struct mr_limits limits_of(struct mr_matrix_group *g)
{
	const struct mr_load *cap = &g->opts.cap;
	const uint64_t cpus = cap->cpus > g->opts.widest_cpus ? cap->cpus : g->opts.widest_cpus;
	struct mr_limits limits = { .memory_max = MR_UNLIMITED,
				    .swap_max = MR_UNLIMITED,
				    .pids_max = MR_UNLIMITED,
				    .cpu_quota_us = MR_UNLIMITED,
				    .cpu_period_us = CPU_PERIOD_US };

	if (has(g, MR_CONTROLLER_MEMORY))
		limits.memory_max = cap->memory;
	if (has(g, MR_CONTROLLER_PIDS))
		limits.pids_max = cap->pids;
	if (has(g, MR_CONTROLLER_CPU))
		limits.cpu_quota_us = cpus * (CPU_PERIOD_US / 1000);
	return limits;
}

static int take_lease(struct mr_matrix_group *g, struct mr_error *err)
{
	const struct mr_lease_note note = { .program = "menace scenario run",
					    .begin_ns = mr_now_ns() };
	char id[MR_RUN_ID_SIZE];
	size_t failed = 0;

	mr_lease_new_id(id);
	snprintf(g->name, sizeof(g->name), "%s" NAME_SUFFIX, id);
	g->lease_dir = mr_lease_open_dir(err);
	if (g->lease_dir < 0)
		return g->lease_dir;
	if (mr_lease_sweep(g->lease_dir, &failed, err) < 0 || failed > 0)
		mr_log_warn("what was left by dead supervisors: %s", err->msg);
	g->lease_fd = mr_lease_take(g->lease_dir, g->name, g->host, &note, err);
	return g->lease_fd < 0 ? g->lease_fd : 0;
}

static int read_back(struct mr_matrix_group *g, struct mr_error *err)
{
	struct mr_cgroup_shown rows[SHOWN_MAX];
	size_t n = 0;
	int r = mr_cgroup_show_limits(g->cg, rows, N_ELEMENTS(rows), &n, err);

	for (size_t i = 0; r == 0 && i < n; i++) {
		if (rows[i].value == MR_UNLIMITED)
			continue;
		if (strcmp(rows[i].key, "pids_max") == 0)
			g->pids_max = rows[i].value;
		json_object_set_new(g->limits, rows[i].key,
				    json_pack("{s:I, s:s}", "value", (json_int_t)rows[i].value,
					      "file", rows[i].file));
	}
	return r;
}

static int make_group(struct mr_matrix_group *g, struct mr_limits *limits, struct mr_error *err)
{
	const unsigned int ours = (unsigned int)g->opts.sandboxes;
	int r = mr_cgroup_new(g->host, g->name, limits, ours, &g->cg, err);

	if (r != -EINVAL || limits->cpu_quota_us == MR_UNLIMITED)
		return r;
	/* v1, below a group that has less than the cap: that one holds already, and tighter. */
	json_object_set_new(g->lacks, mr_limits_controller_name(MR_CONTROLLER_CPU),
			    json_string(err->msg));
	limits->cpu_quota_us = MR_UNLIMITED;
	return mr_cgroup_new(g->host, g->name, limits, ours, &g->cg, err);
}

static int make(struct mr_matrix_group *g, struct mr_error *err)
{
	struct mr_limits limits;
	int r = mr_cgroup_detect(&g->host, err);

	if (r < 0)
		return r;
	if (mr_cgroup_host_mode(g->host) == MR_CGROUP_NONE)
		return mr_err(err, MR_E_KERNEL, EPERM, "%s", mr_cgroup_host_why(g->host));
	limits = limits_of(g);
	r = take_lease(g, err);
	if (r == 0)
		r = make_group(g, &limits, err);
	if (r == 0)
		r = mr_cgroup_share(g->cg, err);
	return r < 0 ? r : read_back(g, err);
}

static void remove_group(struct mr_matrix_group *g)
{
	struct mr_error err = MR_ERROR_INIT;
	bool left = g->cg && mr_cgroup_destroy(g->cg, &err) < 0;

	if (left)
		mr_log_warn("%s; the next start will remove it", err.msg);
	g->cg = mr_cgroup_free(g->cg);
	/* The file of one that is left stays, so that it is found. */
	g->lease_fd =
		left ? mr_close(g->lease_fd) : mr_lease_release(g->lease_dir, g->name, g->lease_fd);
	g->lease_dir = mr_close(g->lease_dir);
}

struct mr_matrix_group *mr_matrix_group_new(const struct mr_matrix_group_opts *opts)
{
	struct mr_matrix_group *g = mr_str_alloc(sizeof(*g));
	struct mr_error err = MR_ERROR_INIT;

	g->opts = *opts;
	g->lease_dir = g->lease_fd = -1;
	g->pids_max = MR_UNLIMITED;
	g->lacks = json_object();
	g->outside_why = json_object();
	g->limits = json_object();
	if (make(g, &err) == 0)
		return g;
	g->why = mr_str_dup(err.msg);
	remove_group(g);
	json_object_clear(g->limits);
	return g;
}

struct mr_matrix_group *mr_matrix_group_free(struct mr_matrix_group *g)
{
	if (!g)
		return NULL;
	remove_group(g);
	mr_cgroup_host_free(g->host);
	json_decref(g->lacks);
	json_decref(g->outside_why);
	json_decref(g->limits);
	free(g->why);
	free(g);
	return NULL;
}

const char *mr_matrix_group_name(const struct mr_matrix_group *g)
{
	return g->cg ? g->name : NULL;
}

/* --- judging --------------------------------------------------------------- */

/* Of another backend what is said of groups and of memory that ran out is its engine's or its guest's,
 * who may lie, and is of limits of its own: neither is below the group.  The name is our own writing. */
static bool is_of_this_host(const json_t *receipt)
{
	const char *name = json_string_value(mr_json_at(receipt, "backend", "name", NULL));

	return name && strcmp(name, "native") == 0;
}

static bool is_below(const struct mr_matrix_group *g, const json_t *receipt)
{
	const char *path = json_string_value(mr_json_at(receipt, "cgroup", "path", NULL));
	const char *own = g->cg ? mr_cgroup_path(g->cg) : NULL;

	return is_of_this_host(receipt) && path && own && strncmp(path, own, strlen(own)) == 0 &&
	       path[strlen(own)] == '/';
}

/* The loss that its backend tells, or that there is nothing to be told. */
static const char *find_why(const json_t *receipt)
{
	const json_t *losses = mr_json_at(receipt, "backend", "losses", NULL);

	for (size_t i = 0; i < json_array_size(losses); i++) {
		const json_t *loss = json_array_get(losses, i);
		const char *item = json_string_value(json_object_get(loss, "item"));
		const char *text = json_string_value(json_object_get(loss, "text"));

		if (item && text && strcmp(item, "cgroup_parent") == 0)
			return text;
	}
	return "its receipt names no control group below it";
}

static void count_outside(struct mr_matrix_group *g, const json_t *receipt)
{
	const char *why = find_why(receipt);
	const json_int_t n = json_integer_value(json_object_get(g->outside_why, why));

	g->outside++;
	if (g->cg)
		json_object_set_new(g->outside_why, why, json_integer(n + 1));
}

char *mr_matrix_group_judge(struct mr_matrix_group *g, const json_t *result)
{
	const char *level =
		json_string_value(json_object_get(json_object_get(result, "oom"), "level"));
	const json_t *receipt = json_object_get(result, "receipt");

	g->runs++;
	if (!is_below(g, receipt))
		count_outside(g, receipt);
	if (!level || strcmp(level, "sandbox") == 0 || !is_of_this_host(receipt))
		return NULL;
	if (strcmp(level, "host") == 0)
		return mr_str_dup("memory: the host ran out of it, and the kernel ended a "
				  "process of the sandbox");
	g->ooms++;
	if (!g->cg)
		return mr_str_dup("memory: a control group above the sandbox ran out of it, and "
				  "the kernel ended a process of the sandbox");
	return mr_str_format("memory: the cap of all cells, %ju bytes, was reached, and the "
			     "kernel ended a process of the sandbox, which was under its own "
			     "limit",
			     (uintmax_t)g->opts.cap.memory);
}

char *mr_matrix_group_judge_pids(const struct mr_matrix_group *g, uint64_t pids)
{
	struct mr_cgroup_stats stats;

	if (!g->cg || pids <= g->pids_max || mr_cgroup_stats(g->cg, &stats, NULL) < 0)
		return NULL;
	if (stats.pids_peak != MR_STAT_UNKNOWN && stats.pids_peak < g->pids_max + g->opts.sandboxes)
		return NULL;
	return mr_str_format("processes: the cap of all cells, %ju, was reached, and the sandbox "
			     "may have %ju",
			     (uintmax_t)g->pids_max, (uintmax_t)pids);
}

/* --- telling --------------------------------------------------------------- */

static json_t *known(uint64_t value)
{
	return value == MR_STAT_UNKNOWN ? json_null() : json_integer((json_int_t)value);
}

json_t *mr_matrix_group_json(const struct mr_matrix_group *g)
{
	const struct mr_load *cap = &g->opts.cap;
	struct mr_cgroup_stats stats = { .memory_peak_bytes = MR_STAT_UNKNOWN,
					 .pids_peak = MR_STAT_UNKNOWN };

	if (g->cg)
		mr_cgroup_stats(g->cg, &stats, NULL);
	return json_pack("{s:s, s:s?, s:s?, s:{s:f, s:I, s:I}, s:O, s:O, s:I, s:I, s:O, s:I, s:o, "
			 "s:o}",
			 "kept_by", g->cg ? "kernel" : "accounting", "why", g->why, "group",
			 g->cg ? mr_cgroup_path(g->cg) : NULL, "asked", "cpus",
			 (double)cap->cpus / 1000, "memory_max_bytes", (json_int_t)cap->memory,
			 "pids_max", (json_int_t)cap->pids, "limits", g->limits, "by_accounting",
			 g->lacks, "runs", g->runs, "runs_outside", g->outside, "outside_why",
			 g->outside_why, "ooms", g->ooms, "memory_peak_bytes",
			 known(stats.memory_peak_bytes), "pids_peak", known(stats.pids_peak));
}
