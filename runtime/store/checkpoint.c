/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints and seals
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

/* Completes and signs what begins as `stolen`. */
static int sign_document(struct mr_store *store, const struct mr_sign_key *key, json_t *stolen,
			 json_t **ret, struct mr_error *err)
{
	mr_auto_json json_t *document = stolen;
	mr_auto_free char *id = NULL;
	mr_auto_free char *text = NULL;
	char signature[MR_SIGN_TEXT_SIZE];
	size_t size = 0;
	int r = mr_checkpoint_store_id(store, &id, err);

	mr_assert(document);
	if (r < 0)
		return r;
	json_object_set_new(document, "store", json_string(id));
	json_object_set_new(document, "time_us", json_integer(mr_chain_now_us()));
	json_object_set_new(document, "public_key", json_string(key->public_hex));
	text = mr_canon_text(document, &size);
	r = mr_sign(key, text, size, signature, err);
	if (r < 0)
		return r;
	json_object_set_new(document, "signature", json_string(signature));
	*ret = mr_take_ptr(document);
	return 0;
}

int mr_checkpoint_make_seal(struct mr_store *store, const struct mr_sign_key *key,
			    int64_t first_seq, int64_t seq, const char *head, json_t **ret,
			    struct mr_error *err)
{
	return sign_document(store, key,
			     json_pack("{s:s, s:I, s:I, s:s}", "schema", MR_CHECKPOINT_SEAL_SCHEMA,
				       "first_seq", (json_int_t)first_seq, "seq", (json_int_t)seq,
				       "head", head),
			     ret, err);
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
	return sign_document(store, key,
			     json_pack("{s:s, s:I, s:I, s:s}", "schema", MR_CHECKPOINT_SCHEMA,
				       "seq", (json_int_t)seq, "count", (json_int_t)seq, "head",
				       head),
			     ret, err);
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

static bool has_schema(const json_t *document, const char *schema)
{
	return strcmp(get_string(document, "schema"), schema) == 0;
}

static int check_document(struct mr_store *store, const json_t *document, const char *public_key,
			  struct mr_error *err)
{
	mr_auto_json json_t *bare = json_copy((json_t *)(uintptr_t)document);
	mr_auto_free char *id = NULL;
	mr_auto_free char *text = NULL;
	size_t size = 0;
	int r = mr_checkpoint_store_id(store, &id, err);

	if (r < 0)
		return r;
	json_object_del(bare, "signature");
	text = mr_canon_text(bare, &size);
	if (!mr_sign_is_good(public_key, text, size, get_string(document, "signature")))
		return mr_err(err, MR_E_USAGE, EKEYREJECTED,
			      "is not signed by the key %.16s..., or was changed", public_key);
	if (strcmp(get_string(document, "store"), id) != 0)
		return mr_err(err, MR_E_USAGE, EINVAL, "is of another store (%.32s)",
			      get_string(document, "store"));
	return 0;
}

static bool is_shaped(const json_t *document)
{
	return json_is_integer(json_object_get(document, "seq")) &&
	       strlen(get_string(document, "head")) == MR_HASH_HEX_SIZE - 1;
}

int mr_checkpoint_check(struct mr_store *store, const json_t *checkpoint, const char *public_key,
			struct mr_error *err)
{
	if (!has_schema(checkpoint, MR_CHECKPOINT_SCHEMA) || !is_shaped(checkpoint))
		return mr_err(err, MR_E_USAGE, EINVAL, "is no checkpoint");
	return check_document(store, checkpoint, public_key, err);
}

int mr_checkpoint_check_seal(struct mr_store *store, const json_t *seal, const char *public_key,
			     struct mr_error *err)
{
	bool old = has_schema(seal, MR_CHECKPOINT_SCHEMA);
	int r;

	if ((!old && !has_schema(seal, MR_CHECKPOINT_SEAL_SCHEMA)) || !is_shaped(seal))
		return mr_err(err, MR_E_USAGE, EINVAL, "is no seal");
	r = check_document(store, seal, public_key, err);
	return r < 0 ? r : old;
}
