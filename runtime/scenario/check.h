/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Check: what menace-run would make of a preset
 */
#pragma once

#include <stdbool.h>

struct json_t;
struct mr_error;
struct mr_json;

enum mr_check_verdict {
	MR_CHECK_ACCEPTED, /* every variable is applied, or asks for nothing */
	MR_CHECK_REFUSED, /* well-formed, but menace-run would not start */
	MR_CHECK_MALFORMED, /* a value or a name is wrong, or the whole contradicts itself */
};
const char *mr_check_verdict_name(enum mr_check_verdict verdict);

/* *ret: {"preset": path, "verdict", "net": the net.mode in which it was judged, since it asks for
 * what others do not have, or null, "variables": [{variable, value, effect, knobs, message}],
 * "problems": [text], "best_effort": [variable]}, new reference.  Every problem is told, not the
 * first alone.  effect is
 *
 *   applied    it sets knobs, {"section.name": value in words}
 *   label      it names the run, or records where the preset comes from
 *   nothing    its value asks for nothing
 *   refused    nothing enforces it: menace-run refuses, unless best_effort names it
 *   malformed  see message
 *
 * misuse: presets that misuse on purpose are admitted. */
enum mr_check_verdict mr_check_preset(const struct mr_json *preset, bool misuse,
				      struct json_t **ret);
/* What a preset means: {"preset": path, "name", "net" as above, "spec": document, "knobs":
 * as mr_spec_explain_json(), those that the preset sets, "unenforced": {variable: value}}, new
 * reference.  MR_E_USAGE: it is malformed. */
int mr_check_explain(const struct mr_json *preset, struct json_t **ret, struct mr_error *err);
