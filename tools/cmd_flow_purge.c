/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace flow purge: forget workflows and matrices that were ended early and are not resumed
 *
 * The rows go before the files: what is left of a purge that is killed is a folder without
 * a row, which the next one removes.  Whoever runs or resumes one has its folder locked, and so
 * have we while we remove it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/flow/folder.h"
#include "runtime/store/query.h"
#include "tools/cmd_flow.h"
#include "tools/term.h"

#define ID_SIZE 16 /* hex digits */

struct flow_purge {
	struct mr_cmd_common common;
	int64_t before_us;
	bool dry_run;
	/* while it runs */
	struct mr_store *store;
	int folders_fd; /* STORE.flows, or -1: there is none */
	json_t *rows; /* of what is not finished */
	json_t *removed, *kept;
	uint64_t bytes;
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_ROW("before", 0, "TIME", INSTANT, flow_purge, before_us,
		   "what nothing was done in since: a date, or a time ago as 30d"),
	MR_CMD_ROW("dry-run", 'n', NULL, FLAG, flow_purge, dry_run, "only tell what would go"),
	MR_CMD_COMMON_ROWS(flow_purge),
};

/* kind: "flow", "matrix", or "files", of which the store does not know (any more). */
struct candidate {
	const char *kind, *id, *name;
	int64_t started_us;
	int lock_fd; /* of its folder; -1: it has none */
	struct mr_folder_size size;
};

/* --- one ------------------------------------------------------------------- */

static void keep(struct flow_purge *p, const struct candidate *c, const char *why)
{
	json_array_append_new(p->kept, json_pack("{s:s, s:s, s:s?, s:s}", "kind", c->kind, "id",
						 c->id, "name", c->name, "why", why));
}

/* 1: it is held by whoever runs it. */
static int lock(struct flow_purge *p, struct candidate *c, struct mr_error *err)
{
	/* Also where nothing is left of it: who resumes it now would make and lock it. */
	if (!p->dry_run && p->folders_fd >= 0 && mkdirat(p->folders_fd, c->id, 0700) < 0 &&
	    errno != EEXIST)
		return mr_err(err, MR_E_SYS, errno, "make folder %s: %m", c->id);
	if (p->folders_fd < 0)
		return 0;
	c->lock_fd = openat(p->folders_fd, c->id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (c->lock_fd < 0 && errno == ENOENT)
		return 0;
	if (c->lock_fd < 0)
		return mr_err(err, MR_E_SYS, errno, "open folder %s: %m", c->id);
	return flock(c->lock_fd, LOCK_EX | LOCK_NB) < 0 ? 1 : 0;
}

/* Under the lock, in one transaction with what it rests on.  1: held, 2: finished meanwhile. */
static int forget_rows(struct flow_purge *p, const struct candidate *c, struct mr_error *err)
{
	static const char *const statements[][2] = {
		{ "unfinished.forget_steps", "unfinished.forget_flow_run" },
		{ "unfinished.forget_cells", "unfinished.forget_matrix" },
	};
	const bool matrix = strcmp(c->kind, "matrix") == 0;
	mr_auto_json json_t *row = NULL;
	int r = mr_store_begin(p->store, err);

	if (r < 0)
		return r;
	r = mr_query_one(p->store, "unfinished.list", json_pack("{s:s}", "id", c->id), &row, err);
	if (r == 0 && json_integer_value(json_object_get(row, "held")))
		r = 1;
	else if (r == 1)
		r = 2;
	for (size_t i = 0; r == 0 && i < N_ELEMENTS(statements[matrix]); i++)
		r = mr_query_run(p->store, statements[matrix][i], json_pack("{s:s}", "id", c->id),
				 err);
	if (r == 0)
		r = mr_store_commit(p->store, err);
	if (r != 0)
		mr_store_rollback(p->store);
	return r;
}

static int remove_it(struct flow_purge *p, const struct candidate *c, struct mr_error *err)
{
	int r = strcmp(c->kind, "files") == 0 ? 0 : forget_rows(p, c, err);

	if (r == 1)
		keep(p, c, "one of its runs is held");
	if (r == 0 && c->lock_fd >= 0)
		r = mr_folder_remove(p->folders_fd, c->id, err);
	if (r != -ENOTEMPTY)
		return r;
	/* Killed this instant: what it started still writes there.  Its row is gone, so it is "files" next. */
	keep(p, c, "its files are still being written: purge again");
	return 1;
}

static int consider_locked(struct flow_purge *p, struct candidate *c, bool held,
			   struct mr_error *err)
{
	int64_t last_us = c->started_us;
	int r = 0;

	if (c->lock_fd >= 0)
		r = mr_folder_measure(p->folders_fd, c->id, &c->size, err);
	if (c->size.changed_us > last_us)
		last_us = c->size.changed_us;
	if (r < 0 || last_us >= p->before_us)
		return r;
	if (held) {
		keep(p, c, "one of its runs is held");
		return 0;
	}
	if (!p->dry_run)
		r = remove_it(p, c, err);
	if (r != 0)
		return r < 0 ? r : 0;
	p->bytes += c->size.bytes;
	json_array_append_new(p->removed,
			      json_pack("{s:s, s:s, s:s?, s:I, s:I, s:I}", "kind", c->kind, "id",
					c->id, "name", c->name, "last_us", (json_int_t)last_us,
					"bytes", (json_int_t)c->size.bytes, "files",
					(json_int_t)c->size.files));
	return 0;
}

static int consider(struct flow_purge *p, struct candidate *c, bool held, struct mr_error *err)
{
	int r;

	if (c->started_us >= p->before_us)
		return 0;
	c->lock_fd = -1;
	r = lock(p, c, err);
	if (r == 0)
		r = consider_locked(p, c, held, err);
	else if (r > 0)
		keep(p, c, "it is being run");
	c->lock_fd = mr_close(c->lock_fd);
	return r < 0 ? mr_err_wrap(err, r, "%s", c->id) : 0;
}

/* --- all ------------------------------------------------------------------- */

static int consider_rows(struct flow_purge *p, struct mr_error *err)
{
	size_t i;
	const json_t *row;
	int r = 0;

	json_array_foreach (p->rows, i, row) {
		struct candidate c = {
			.kind = json_string_value(json_object_get(row, "kind")),
			.id = json_string_value(json_object_get(row, "id")),
			.name = json_string_value(json_object_get(row, "name")),
			.started_us = json_integer_value(json_object_get(row, "started_us")),
		};

		if (r == 0)
			r = consider(p, &c, json_integer_value(json_object_get(row, "held")) != 0,
				     err);
	}
	return r;
}

/* The id of something unfinished, as far as the store knows? */
static bool has_row(const struct flow_purge *p, const char *id)
{
	for (size_t i = 0; i < json_array_size(p->rows); i++)
		if (strcmp(json_string_value(json_object_get(json_array_get(p->rows, i), "id")),
			   id) == 0)
			return true;
	return false;
}

static bool is_id(const char *name)
{
	return strlen(name) == ID_SIZE && strspn(name, "0123456789abcdef") == ID_SIZE;
}

/* Of what was finished, or was killed before its row was there. */
static int consider_files(struct flow_purge *p, struct mr_error *err)
{
	mr_auto_close int fd = openat(p->folders_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	mr_auto_closedir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int r = 0;

	if (!dir)
		return mr_err(err, MR_E_SYS, errno, "list %s.flows: %m", mr_store_path(p->store));
	fd = -1; /* dir has it */
	while (r == 0 && (entry = readdir(dir))) {
		struct candidate c = { .kind = "files", .id = entry->d_name };

		if (is_id(entry->d_name) && !has_row(p, entry->d_name))
			r = consider(p, &c, false, err);
	}
	return r;
}

static int open_folders(struct flow_purge *p, struct mr_error *err)
{
	mr_auto_free char *path = mr_str_format("%s.flows", mr_store_path(p->store));
	struct stat st;

	p->folders_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (p->folders_fd < 0 && errno == ENOENT)
		return 0;
	if (p->folders_fd < 0 || fstat(p->folders_fd, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "open %s: %m", path);
	if (st.st_uid != geteuid() || (st.st_mode & 022) != 0)
		return mr_err(err, MR_E_DENIED, EPERM,
			      "%s is no folder of yours that nobody else can write", path);
	return 0;
}

static int purge(struct flow_purge *p, struct mr_error *err)
{
	int r = mr_cmd_open(&p->common, p->dry_run ? MR_STORE_READ : MR_STORE_WRITE, &p->store,
			    err);

	if (r == 0)
		r = open_folders(p, err);
	if (r == 0)
		r = mr_query_all(p->store, "unfinished.list", NULL, &p->rows, err);
	if (r == 0)
		r = consider_rows(p, err);
	if (r == 0 && p->folders_fd >= 0)
		r = consider_files(p, err);
	return r;
}

/* --- telling --------------------------------------------------------------- */

static const char *noun(const json_t *row)
{
	const char *kind = json_string_value(json_object_get(row, "kind"));

	return strcmp(kind, "flow") == 0     ? "flow run"
	       : strcmp(kind, "matrix") == 0 ? "matrix"
					     : "files of";
}

static void tell(const struct flow_purge *p)
{
	char size[MR_UNITS_SIZE];
	const json_t *row;
	size_t i;

	json_array_foreach (p->removed, i, row) {
		mr_units_human_size(size,
				    (uint64_t)json_integer_value(json_object_get(row, "bytes")));
		printf("%s %s: %s in %lld files ", noun(row),
		       json_string_value(json_object_get(row, "id")), size,
		       (long long)json_integer_value(json_object_get(row, "files")));
		mr_term_put(MR_TERM_DIM, mr_json_text_or_empty(row, "name"));
		putchar('\n');
	}
	json_array_foreach (p->kept, i, row)
		printf("%s %s stays: %s\n", noun(row),
		       json_string_value(json_object_get(row, "id")),
		       json_string_value(json_object_get(row, "why")));
	mr_units_human_size(size, p->bytes);
	printf("%zu %s, %s\n", json_array_size(p->removed), p->dry_run ? "would go" : "removed",
	       size);
}

static int run(void *values, char **words, struct mr_error *err)
{
	struct flow_purge *p = values;
	mr_auto_json json_t *document = NULL;
	int r;

	(void)words;
	if (p->before_us == MR_CMD_NOT_GIVEN)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "say how old: --before TIME, a date, or a time ago as 30d");
	p->folders_fd = -1;
	p->removed = json_array();
	p->kept = json_array();
	r = purge(p, err);
	document = json_pack("{s:b, s:o, s:o, s:I}", "dry_run", p->dry_run, "removed", p->removed,
			     "kept", p->kept, "bytes", (json_int_t)p->bytes);
	/* What is gone is told of also where the rest failed. */
	if ((r == 0 || json_array_size(p->removed) > 0) && p->common.json)
		mr_cmd_print_json(document);
	else if (r == 0 || json_array_size(p->removed) > 0)
		tell(p);
	json_decref(p->rows);
	mr_close(p->folders_fd);
	p->store = mr_store_close(p->store);
	return r;
}

const struct mr_cmd mr_cmd_flow_purge = {
	.name = "flow purge",
	.synopsis = "",
	.summary = "Remove workflow runs and matrices that were ended early and are not resumed, "
		   "with their files",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct flow_purge),
	.run = run,
};
