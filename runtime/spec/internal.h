/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spec: what parse.c and preset.c share
 */
#pragma once

#include <stdbool.h>

#include "runtime/base/json.h"
#include "runtime/spec/spec.h"

/* bytes.c.  A string, or {"base64": "..."} where the bytes are no UTF-8: malloc'd and followed by
 * a NUL; get_text refuses a NUL among them. */
int mr_spec_get_bytes(const struct mr_json *json, char **ret, size_t *ret_size,
		      struct mr_error *err);
int mr_spec_get_text(const struct mr_json *json, char **ret, struct mr_error *err);
/* json is where the text stands, for the message. */
int mr_spec_decode_base64(const struct mr_json *json, const char *text, size_t size, char **ret,
			  size_t *ret_size, struct mr_error *err);

/* net.c.  Whether the conditions of the link go together, and with the rest. */
int mr_spec_check_net(const struct mr_spec *spec, const struct mr_spec_labels *labels,
		      struct mr_error *err);
/* validate.c.  The knob's key, or what the caller of ours calls it. */
const char *mr_spec_label(const struct mr_spec_labels *labels, enum mr_field_id id);
/* validate.c.  What a text knob may be beside its length; the message has no noun in front. */
int mr_spec_check_text(enum mr_field_id id, const char *text, struct mr_error *err);

/* print.c.  A string, or {"base64": "..."} where the bytes are no UTF-8; new reference. */
json_t *mr_spec_bytes_json(const char *data, size_t size);

/* mocks.c.  One member of "network_mocks"; and the object again, new reference. */
int mr_spec_take_mock(struct mr_spec *spec, const struct mr_json *json, struct mr_error *err);
json_t *mr_spec_mocks_json(const struct mr_spec *spec);
int mr_spec_check_mocks(const struct mr_spec *spec, const struct mr_spec_labels *labels,
			struct mr_error *err);

/* Set a knob from a JSON value of a type that suits it: a string in the grammar of the knob, a
 * number, a boolean for BOOL; null for a knob whose default is "unset". */
int mr_spec_set_json(struct mr_spec *spec, enum mr_field_id id, const struct mr_json *json,
		     bool bare_seconds, enum mr_origin origin, struct mr_error *err);

/* A variable of "unenforced": known, and tolerated by best_effort. */
int mr_preset_record_unenforced(struct mr_spec *spec, const struct mr_json *json,
				struct mr_error *err);
/* A built-in preset by name. */
int mr_preset_apply_builtin(struct mr_spec *spec, const char *name, enum mr_origin origin,
			    struct mr_error *err);
