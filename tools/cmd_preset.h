/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace preset: what its verbs share
 */
#pragma once

#include <stdbool.h>

#include "runtime/scenario/document.h"
#include "tools/cmd.h"

struct json_t;
struct mr_error;
struct mr_evidence;

extern const struct mr_cmd mr_cmd_preset_adapt;
extern const struct mr_cmd mr_cmd_preset_check;
extern const struct mr_cmd mr_cmd_preset_combine;
extern const struct mr_cmd mr_cmd_preset_learn;
extern const struct mr_cmd mr_cmd_preset_policy_export;
extern const struct mr_cmd mr_cmd_preset_policy_import;
extern const struct mr_cmd mr_cmd_preset_policy_show;
extern const struct mr_cmd mr_cmd_preset_show;
extern const struct mr_cmd mr_cmd_preset_suggest;

/* A document on standard output, or (path not NULL and not "-") whole in a file. */
int mr_cmd_preset_write(const char *path, const struct json_t *document, struct mr_error *err);
/* A file, "-", JSON text, the name of a built-in preset, or of a profile with ":low" or ":high"
 * (high without either).  New reference; *ret_source names it in messages and lives as long as
 * word. */
int mr_cmd_preset_read(const char *word, struct json_t **ret, const char **ret_source,
		       struct mr_error *err);
/* Each preset of what word names.  loss_unit: "percent" (or NULL) or "fraction", how bare losses are
 * meant; a number that looks like the other is warned of. */
int mr_cmd_preset_each(const char *word, const char *loss_unit, mr_document_fn *fn, void *owner,
		       struct mr_error *err);
/* MR_E_USAGE with the first problem of a preset that is malformed. */
int mr_cmd_preset_refuse_malformed(const struct mr_json *preset, struct mr_error *err);
/* Results or metrics of a file: one document, or one a line. */
int mr_cmd_preset_add_evidence(struct mr_evidence *evidence, const char *path,
			       struct mr_error *err);
/* A learned policy of presets, checked; new reference. */
int mr_cmd_preset_read_policy(const char *path, struct json_t **ret, struct mr_error *err);
/* The policy to be followed: what --policy names (or NULL), else SANDBOX_PRESET_RL_PATH; NULL: none.  The
 * message says which of them it was.  New reference. */
int mr_cmd_preset_policy_to_follow(const char *option, struct json_t **ret, struct mr_error *err);
/* What a policy said, of the member policy of mr_adapt(), on standard error. */
void mr_cmd_preset_explain_policy(const char *path, const struct json_t *adapted);
/* What mr_adapt() says of the preset at a path, on standard error. */
void mr_cmd_preset_tell(const char *path, const struct json_t *adapted);
/* Is misuse among what may be drawn or suggested?  asked: by an option; else by the environment. */
int mr_cmd_preset_misuse(bool asked, bool *ret, struct mr_error *err);
