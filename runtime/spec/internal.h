/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spec: what parse.c and preset.c share
 */
#pragma once

#include <stdbool.h>

#include "runtime/base/json.h"
#include "runtime/spec/spec.h"

/* Set a knob from a JSON value of a type that suits it: a string in the grammar of the knob, a
 * number, a boolean for BOOL; null for a knob whose default is "unset". */
int mr_spec_set_json(struct mr_spec *spec, enum mr_field_id id, const struct mr_json *json,
		     bool bare_seconds, enum mr_origin origin, struct mr_error *err);

/* Preset variables of an object that is already parsed. */
int mr_preset_apply_object(struct mr_spec *spec, const struct mr_json *object,
			   enum mr_origin origin, struct mr_error *err);
/* A built-in preset by name. */
int mr_preset_apply_builtin(struct mr_spec *spec, const char *name, enum mr_origin origin,
			    struct mr_error *err);
