/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON lines: runs as they were recorded, schema menace.record/1
 *
 * Comes from the bytes that were hashed, not from the tables: what is exported is
 * what can be verified.
 */
#include <errno.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/export/format.h"
#include "runtime/store/query.h"

static json_t *data_of(const json_t *link, struct mr_error *err)
{
	const char *body = json_string_value(json_object_get(link, "body"));
	mr_auto_json json_t *parsed = NULL;

	if (mr_json_parse(body, strlen(body), "link", &parsed, err) < 0)
		return NULL;
	return json_incref(json_object_get(parsed, "data"));
}

/* Put the links of a run together again. */
static int add_link(const json_t *link, void *owner, struct mr_error *err)
{
	json_t *record = owner;
	const char *kind = json_string_value(json_object_get(link, "kind"));
	mr_auto_json json_t *data = data_of(link, err);

	if (!data)
		return mr_err(err, MR_E_PROTO, EBADMSG,
			      "a link is damaged: menace audit verify says which");
	if (strcmp(kind, "run") == 0)
		json_object_update(record, data);
	else if (strcmp(kind, "result") == 0)
		json_object_set(record, "result", data);
	else
		json_object_set(json_object_get(record, "result"), kind, data);
	return 0;
}

static int write_run(struct mr_export *x, const json_t *head, struct mr_error *err)
{
	mr_auto_json json_t *record = json_object();
	int r = mr_query_each(x->store, "link.list",
			      json_pack("{s:O}", "run_id", json_object_get(head, "run_id")),
			      add_link, record, err);

	if (r < 0 || json_object_size(record) == 0) /* purged meanwhile */
		return r;
	json_object_set_new(record, "integrity",
			    json_pack("{s:O, s:O}", "seq", json_object_get(head, "seq"), "hash",
				      json_object_get(head, "hash")));
	return mr_export_write_json(x, record, err);
}

const struct mr_export_format mr_export_jsonl = {
	.name = "jsonl",
	.help = "a record of schema menace.record/1 a line, as it was recorded",
	.mode = 0600,
	.run = write_run,
};
