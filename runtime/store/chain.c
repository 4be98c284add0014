/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chain
 */
#include "runtime/store/chain.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/store/canon.h"
#include "runtime/store/query.h"

int64_t mr_chain_now_us(void)
{
	return mr_clock_real_us();
}

static char *seal_body(json_t *stolen, char ret_hash[MR_HASH_HEX_SIZE])
{
	mr_auto_json json_t *body = stolen;
	size_t size = 0;
	char *text;

	mr_assert(body);
	text = mr_canon_text(body, &size);
	mr_hash_hex(text, size, ret_hash);
	return text;
}

char *mr_chain_link(const char *run_id, int n, const char *kind, const char *prev,
		    const struct json_t *data, char ret_hash[MR_HASH_HEX_SIZE])
{
	return seal_body(json_pack("{s:O, s:s, s:i, s:s, s:s}", "data", data, "kind", kind, "n", n,
				   "prev", prev, "run_id", run_id),
			 ret_hash);
}

int mr_chain_head(struct mr_store *store, int64_t *ret_seq, char ret_hash[MR_HASH_HEX_SIZE],
		  struct mr_error *err)
{
	mr_auto_json json_t *row = NULL;
	int r = mr_query_one(store, "chain.head", NULL, &row, err);

	if (r < 0)
		return r;
	*ret_seq = r > 0 ? 0 : json_integer_value(json_object_get(row, "seq"));
	snprintf(ret_hash, MR_HASH_HEX_SIZE, "%s",
		 r > 0 ? MR_CHAIN_START : json_string_value(json_object_get(row, "hash")));
	return 0;
}

int mr_chain_append(struct mr_store *store, const char *kind, const char *subject,
		    const struct json_t *data, int64_t *ret_seq, struct mr_error *err)
{
	mr_auto_free char *body = NULL;
	char prev[MR_HASH_HEX_SIZE], hash[MR_HASH_HEX_SIZE];
	int64_t seq = 0;
	int r = mr_chain_head(store, &seq, prev, err);

	if (r < 0)
		return r;
	seq++;
	body = seal_body(json_pack("{s:O, s:s, s:s, s:I, s:s, s:I}", "data", data, "kind", kind,
				   "prev", prev, "seq", (json_int_t)seq, "subject", subject,
				   "time_us", (json_int_t)mr_chain_now_us()),
			 hash);
	r = mr_query_run(store, "chain.insert",
			 json_pack("{s:I, s:s, s:s, s:s, s:s}", "seq", (json_int_t)seq, "kind",
				   kind, "subject", subject, "body", body, "hash", hash),
			 err);
	if (r == 0 && ret_seq)
		*ret_seq = seq;
	return r;
}
