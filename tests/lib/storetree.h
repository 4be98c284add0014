/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store in a temporary folder, and records to put into it, for unit tests
 */
#pragma once

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/store/place.h"
#include "runtime/store/record.h"
#include "runtime/store/spool.h"
#include "runtime/store/store.h"
#include "tests/lib/temptree.h"

struct storetree {
	struct temptree tree;
	struct mr_place place;
};

/* The refuge is in the folder too. */
static inline void storetree_make(struct storetree *t)
{
	temptree_make(&t->tree);
	t->place = (struct mr_place){ .db = mr_str_format("%s/s.db", t->tree.path),
				      .spool = mr_str_format("%s/s.db.spool", t->tree.path),
				      .aside = mr_str_format("%s/s.db.aside", t->tree.path),
				      .refuge = mr_str_format("%s/refuge/r.spool", t->tree.path) };
}

static inline void storetree_remove(struct storetree *t)
{
	mr_place_deinit(&t->place);
	temptree_remove(&t->tree);
}

/* A record with a bit of everything. */
static inline json_t *make_record(const char *run_id)
{
	json_t *record = json_pack(
		"{s:s, s:s, s:s, s:[s,s], s:i, s:b, s:i, s:{s:s, s:s, s:s, s:s, s:{s:i, s:i, s:n}, "
		"s:{s:i, s:{s:i, s:s}}, s:{s:i, s:s}, s:[s], s:{s:i, s:[{s:s, s:s, s:s, s:i}]}, "
		"s:{s:b, s:{s:s}, s:[]}, s:{s:[{s:s, s:i}, {s:s, s:i}]}}}",
		"schema", MR_RECORD_SCHEMA, "run_id", run_id, "program", "true", "argv", "true",
		"x", "argv_bytes", 7, "argv_truncated", 0, "uid", 0, "result", "run_id", run_id,
		"version", "0.1.0", "reason", "exited", "started_at", "2026-11-28T03:19:46.570847Z",
		"exit", "status", 0, "code", 0, "signal", "usage", "wall_us", 1000, "cpu",
		"usage_us", 500, "source", "cpu.stat", "limits", "pids_max", 512, "wall_ms",
		"unlimited", "limits_hit", "pids", "denials", "total", 1, "rows", "layer",
		"seccomp", "what", "ptrace", "object", "", "count", 2, "receipt",
		"verified_before_start", 1, "seccomp", "state", "enforced", "degraded", "timings",
		"steps", "name", "root", "took_ns", 100, "name", "enter", "took_ns", 200);

	mr_assert(record);
	return record;
}

static inline void spool_text(struct storetree *t, const char *text)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spool spool;

	MUST(mr_spool_open(&t->place, strlen(text), &spool, &err) == 0);
	MUST(mr_spool_append(&spool, text, strlen(text), &err) == 0);
	mr_spool_close(&spool);
}

static inline void spool_record(struct storetree *t, const char *run_id)
{
	mr_auto_json json_t *record = make_record(run_id);
	mr_auto_free char *text = json_dumps(record, JSON_COMPACT);

	spool_text(t, text);
}

/* Bytes at the end of the spool as no writer of ours would leave them. */
static inline void spool_bytes(struct storetree *t, const char *bytes, size_t size)
{
	int fd = open(t->place.spool, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

	MUST(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && close(fd) == 0);
}
