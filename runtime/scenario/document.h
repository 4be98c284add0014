/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Document: one preset or many in one JSON text
 *
 * Accepted are a preset, a list of presets, {"presets": [...]} as "menace preset
 * generate --json" prints it, and what "menace preset canonical" prints: profile,
 * level, preset.
 */
#pragma once

#include <stddef.h>

#include "runtime/base/json.h"

struct mr_error;

/* How a bare PACKET_LOSS or PACKET_DUPLICATION is meant. */
enum mr_loss_unit { MR_LOSS_PERCENT, MR_LOSS_FRACTION };

/* One preset: the cursor knows the way to it. Negative ends the walk with the error filled. */
typedef int mr_document_fn(const struct mr_json *preset, void *owner, struct mr_error *err);

int mr_document_each(const struct mr_json *root, mr_document_fn *fn, void *owner,
		     struct mr_error *err);
/* Bare numbers of losses between 0 and 1 look like fractions: with MR_LOSS_FRACTION they are turned
 * into percent, in place; else *ret_warning is a text (malloc'd) that says so, or NULL. */
int mr_document_losses(struct json_t *preset, enum mr_loss_unit unit, char **ret_warning,
		       struct mr_error *err);
