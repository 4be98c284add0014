/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints
 */
#include "runtime/store/checkpoint.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/store/canon.h"
#include "runtime/store/chain.h"
#include "runtime/store/query.h"
#include "runtime/store/sign.h"
#include "runtime/store/store.h"

static const char *get_string(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

int mr_checkpoint_store_id(struct mr_store *store, char **ret, struct mr_error *err)
{
	mr_auto_json json_t *row = NULL;
	int r = mr_query_one(store, "info.get", json_pack("{s:s}", "name", "id"), &row, err);

	if (r < 0)
		return r;
	if (r > 0 || !json_is_string(json_object_get(row, "value")))
		return mr_err(err, MR_E_PROTO, ENOENT, "store %s has no id: it is damaged",
			      mr_store_path(store));
	*ret = mr_str_dup(get_string(row, "value"));
	return 0;
}

int mr_checkpoint_make_at(struct mr_store *store, const struct mr_sign_key *key, int64_t seq,
			  const char *head, json_t **ret, struct mr_error *err)
{
	mr_auto_free char *id = NULL;
	mr_auto_json json_t *document = NULL;
	mr_auto_free char *text = NULL;
	char signature[MR_SIGN_TEXT_SIZE];
	size_t size = 0;
	int r = mr_checkpoint_store_id(store, &id, err);

	if (r < 0)
		return r;
	document = json_pack("{s:s, s:s, s:I, s:I, s:s, s:I, s:s}", "schema", MR_CHECKPOINT_SCHEMA,
			     "store", id, "seq", (json_int_t)seq, "count", (json_int_t)seq, "head",
			     head, "time_us", (json_int_t)mr_chain_now_us(), "public_key",
			     key->public_hex);
	text = mr_canon_text(document, &size);
	r = mr_sign(key, text, size, signature, err);
	if (r < 0)
		return r;
	json_object_set_new(document, "signature", json_string(signature));
	*ret = mr_take_ptr(document);
	return 0;
}

int mr_checkpoint_make(struct mr_store *store, const struct mr_sign_key *key, json_t **ret,
		       struct mr_error *err)
{
	char head[MR_HASH_HEX_SIZE];
	int64_t seq = 0;
	int r = mr_chain_head(store, &seq, head, err);

	if (r < 0)
		return r;
	if (seq == 0)
		return mr_err(err, MR_E_USAGE, ENOENT, "the store is empty: nothing to sign");
	return mr_checkpoint_make_at(store, key, seq, head, ret, err);
}

int mr_checkpoint_keep(struct mr_store *store, const json_t *checkpoint, struct mr_error *err)
{
	size_t size = 0;
	mr_auto_free char *text = mr_canon_text(checkpoint, &size);

	return mr_query_run(store, "checkpoint.insert",
			    json_pack("{s:O, s:O, s:O, s:s}", "seq",
				      json_object_get(checkpoint, "seq"), "time_us",
				      json_object_get(checkpoint, "time_us"), "public_key",
				      json_object_get(checkpoint, "public_key"), "document", text),
			    err);
}

int mr_checkpoint_check(struct mr_store *store, const json_t *checkpoint, const char *public_key,
			struct mr_error *err)
{
	mr_auto_json json_t *bare = json_copy((json_t *)(uintptr_t)checkpoint);
	mr_auto_free char *id = NULL;
	mr_auto_free char *text = NULL;
	size_t size = 0;
	int r = mr_checkpoint_store_id(store, &id, err);

	if (r < 0)
		return r;
	if (strcmp(get_string(checkpoint, "schema"), MR_CHECKPOINT_SCHEMA) != 0 ||
	    !json_is_integer(json_object_get(checkpoint, "seq")) ||
	    strlen(get_string(checkpoint, "head")) != MR_HASH_HEX_SIZE - 1)
		return mr_err(err, MR_E_USAGE, EINVAL, "is no checkpoint");
	json_object_del(bare, "signature");
	text = mr_canon_text(bare, &size);
	if (!mr_sign_is_good(public_key, text, size, get_string(checkpoint, "signature")))
		return mr_err(err, MR_E_USAGE, EKEYREJECTED,
			      "is not signed by the key %.16s..., or was changed", public_key);
	if (strcmp(get_string(checkpoint, "store"), id) != 0)
		return mr_err(err, MR_E_USAGE, EINVAL, "is of another store (%.32s)",
			      get_string(checkpoint, "store"));
	return 0;
}
