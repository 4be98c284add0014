/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Record
 *
 * The record is split into links, hashed and stored as bytes; the rows of all other
 * tables are made from these bytes by the statements project.KIND.TABLE, and by
 * nothing else.  So verification can make them again.
 */
#include "runtime/store/record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/store/chain.h"
#include "runtime/store/query.h"
#include "runtime/store/sections.h"

#define LINKS_MAX 3
#define RUN_ID_MAX 64

struct links {
	struct {
		const char *kind;
		char *body;
		char hash[MR_HASH_HEX_SIZE];
	} v[LINKS_MAX];
	int n;
};

static void free_links(struct links *links)
{
	for (int i = 0; i < links->n; i++)
		mr_freep(&links->v[i].body);
}

static const char *get_string(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static int check_shape(const json_t *record, struct mr_error *err)
{
	const char *run_id = get_string(record, "run_id");
	const json_t *result = json_object_get(record, "result");

	if (strcmp(get_string(record, "schema"), MR_RECORD_SCHEMA) != 0)
		return mr_err(err, MR_E_USAGE, EINVAL, "is not of schema " MR_RECORD_SCHEMA);
	if (run_id[0] == '\0' || strlen(run_id) > RUN_ID_MAX ||
	    strspn(run_id, "0123456789abcdefghijklmnopqrstuvwxyz") != strlen(run_id))
		return mr_err(err, MR_E_USAGE, EINVAL, "has no run_id");
	if (strcmp(get_string(result, "run_id"), run_id) != 0)
		return mr_err(err, MR_E_USAGE, EINVAL, "has no result of its run");
	return 0;
}

static void add_link(struct links *links, const char *run_id, const char *kind, const json_t *data)
{
	const char *prev = links->n > 0 ? links->v[links->n - 1].hash : MR_CHAIN_START;
	int i = links->n++;

	links->v[i].kind = kind;
	links->v[i].body = mr_chain_link(run_id, i, kind, prev, data, links->v[i].hash);
}

static void split(const json_t *record, struct links *links)
{
	mr_auto_json json_t *run = json_copy((json_t *)(uintptr_t)record);
	mr_auto_json json_t *result = json_copy(json_object_get(record, "result"));
	mr_auto_json json_t *telemetry = json_incref(json_object_get(result, "telemetry"));
	const char *run_id = get_string(record, "run_id");

	json_object_del(run, "result");
	json_object_del(result, "telemetry");
	add_link(links, run_id, "run", run);
	add_link(links, run_id, "result", result);
	if (json_is_object(telemetry))
		add_link(links, run_id, "telemetry", telemetry);
}

/* 0: unknown, 1: there with this head. */
static int find_run(struct mr_store *store, const char *run_id, const char *head,
		    struct mr_error *err)
{
	mr_auto_json json_t *row = NULL;
	int r = mr_query_one(store, "chain.run", json_pack("{s:s}", "run_id", run_id), &row, err);

	if (r != 0)
		return r < 0 ? r : 0;
	if (strcmp(get_string(row, "head"), head) == 0)
		return 1;
	return mr_err(err, MR_E_USAGE, EEXIST, "is another record of run %s, which is there",
		      run_id);
}

int mr_record_project(struct mr_store *store, const char *kind, const char *body,
		      struct mr_error *err)
{
	mr_auto_free char *prefix = mr_str_format("project.%s.", kind);
	const char *at = mr_sql_statements;
	struct mr_section section;
	int r = 0;

	while (r == 0 && mr_section_next(&at, &section)) {
		if (mr_str_starts_with(section.name, prefix))
			r = mr_query_run(store, section.name, json_pack("{s:s}", "body", body),
					 err);
	}
	return r;
}

static int insert_links(struct mr_store *store, const char *run_id, const struct links *links,
			struct mr_error *err)
{
	int r = 0;

	for (int i = 0; i < links->n && r == 0; i++) {
		r = mr_query_run(store, "link.insert",
				 json_pack("{s:s, s:i, s:s, s:s, s:s}", "run_id", run_id, "n", i,
					   "kind", links->v[i].kind, "body", links->v[i].body,
					   "hash", links->v[i].hash),
				 err);
		if (r == 0)
			r = mr_record_project(store, links->v[i].kind, links->v[i].body, err);
	}
	return r;
}

static int insert(struct mr_store *store, const char *run_id, const struct links *links,
		  struct mr_error *err)
{
	const char *head = links->v[links->n - 1].hash;
	mr_auto_json json_t *data = json_pack("{s:s, s:i}", "head", head, "links", links->n);
	int r = find_run(store, run_id, head, err);

	if (r != 0)
		return r;
	r = insert_links(store, run_id, links, err);
	return r < 0 ? r : mr_chain_append(store, "run", run_id, data, NULL, err);
}

int mr_record_insert(struct mr_store *store, const struct json_t *record, struct mr_error *err)
{
	struct links links = { 0 };
	int r = check_shape(record, err);

	if (r < 0)
		return r;
	split(record, &links);
	r = insert(store, get_string(record, "run_id"), &links, err);
	free_links(&links);
	return r;
}
