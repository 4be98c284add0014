/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spec: what parse.c and preset.c share
 */
#pragma once

#include <stdbool.h>

#include "runtime/base/json.h"
#include "runtime/spec/bytes.h"
#include "runtime/spec/spec.h"

/* net.c.  Whether the conditions of the link go together, and with the rest. */
int mr_spec_check_net(const struct mr_spec *spec, const struct mr_spec_labels *labels,
		      struct mr_error *err);
/* validate.c.  The knob's key, or what the caller of ours calls it. */
const char *mr_spec_label(const struct mr_spec_labels *labels, enum mr_field_id id);
/* validate.c.  What a text knob may be beside its length; the message has no noun in front. */
int mr_spec_check_text(enum mr_field_id id, const char *text, struct mr_error *err);

/* mocks.c.  One member of "network_mocks"; and the object again, new reference. */
int mr_spec_take_mock(struct mr_spec *spec, const struct mr_json *json, struct mr_error *err);
json_t *mr_spec_mocks_json(const struct mr_spec *spec);
int mr_spec_check_mocks(const struct mr_spec *spec, const struct mr_spec_labels *labels,
			struct mr_error *err);

/* outages.c.  The list net.faults; and again, new reference. */
int mr_spec_take_faults(struct mr_spec *spec, const struct mr_json *list, struct mr_error *err);
json_t *mr_spec_faults_json(const struct mr_spec *spec);
int mr_spec_check_faults(const struct mr_spec *spec, const struct mr_spec_labels *labels,
			 struct mr_error *err);

/* failures.c.  The variable FAILURE_MODES in all the forms it is written in. */
int mr_preset_take_failures(struct mr_spec *spec, const struct mr_json *json, enum mr_origin origin,
			    struct mr_error *err);
int mr_spec_check_failures(const struct mr_spec *spec, const struct mr_spec_labels *labels,
			   struct mr_error *err);

/* vm.c.  The variable VM_SETTINGS; after TIMEOUT, over which its own timeout wins. */
#define MR_PRESET_VM "VM_SETTINGS"
int mr_preset_take_vm(struct mr_spec *spec, const struct mr_json *json, enum mr_origin origin,
		      struct mr_error *err);
/* Where presets want a machine and nobody has said a time, it is longer: a machine has to boot.  A
 * TIMEOUT or an option that comes later still wins. */
void mr_preset_allow_for_boot(struct mr_spec *spec);
int mr_spec_check_vm(const struct mr_spec *spec, const struct mr_spec_labels *labels,
		     struct mr_error *err);

/* Set a knob from a JSON value of a type that suits it: a string in the grammar of the knob, a
 * number, a boolean for BOOL; null for a knob whose default is "unset". */
int mr_spec_set_json(struct mr_spec *spec, enum mr_field_id id, const struct mr_json *json,
		     bool bare_seconds, enum mr_origin origin, struct mr_error *err);

/* Remember, once, that this variable is not enforced, or not all of it. */
void mr_preset_note_unenforced(struct mr_spec *spec, const char *name);
/* A variable of "unenforced": known, and tolerated by best_effort. */
int mr_preset_record_unenforced(struct mr_spec *spec, const struct mr_json *json,
				struct mr_error *err);
/* A built-in preset by name. */
int mr_preset_apply_builtin(struct mr_spec *spec, const char *name, enum mr_origin origin,
			    struct mr_error *err);
