/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spec: the failures to inject
 *
 * A mode that cannot be made is refused, because a result would be attributed to a failure
 * that never was; best_effort lets the rest be made without it.
 */
#include "runtime/spec/failures.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/spec/internal.h"
#include "runtime/spec/net.h"

static const char spaces[] = " \t\n\v\f\r";

static const struct mr_failure_row rows[] = {
#define MODE(name_, needs_, help_) { #name_, MR_FAILURE_NEEDS_##needs_, help_ },
#include "runtime/spec/failure_modes.def"
#undef MODE
};

const struct mr_failure_row *mr_failure_row(enum mr_failure_mode mode)
{
	return &rows[mode];
}

const char *mr_failure_needs_text(enum mr_failure_needs needs)
{
	static const char *const texts[] = {
		[MR_FAILURE_NEEDS_NOTHING] = "",
		[MR_FAILURE_NEEDS_GROUP] = "Needs a control group.",
		[MR_FAILURE_NEEDS_CALLS] = "Slows system calls.",
		[MR_FAILURE_NEEDS_LINK] = "Needs net.mode loopback, stub or allowlist.",
		[MR_FAILURE_NEEDS_MOCKS] = "Needs net.mode stub.",
	};

	return texts[needs];
}

/* One name.  Its bit, or 0 for what asks for nothing. */
static int parse_name(const char *name, uint32_t *ret, struct mr_error *err)
{
	struct mr_str_nearest nearest;
	char quoted[MR_STR_QUOTE_SIZE];

	*ret = 0;
	if (name[0] == '\0' || strcmp(name, "none") == 0)
		return 0;
	mr_str_nearest_init(&nearest, name);
	for (unsigned int i = 0; i < N_ELEMENTS(rows); i++) {
		if (strcmp(rows[i].name, name) == 0) {
			*ret = MR_FAILURE_BIT(i);
			return 0;
		}
		mr_str_nearest_offer(&nearest, rows[i].name);
	}
	mr_str_quote(quoted, sizeof(quoted), name);
	if (nearest.best)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "unknown failure mode %s; did you mean \"%s\"?", quoted,
			      nearest.best);
	return mr_err(err, MR_E_USAGE, EINVAL, "unknown failure mode %s", quoted);
}

int mr_failures_parse(const char *text, uint32_t *ret, struct mr_error *err)
{
	uint32_t mask = 0, bit;

	for (;;) {
		size_t n = strcspn(text, ","), begin = strspn(text, spaces), end = n;
		mr_auto_free char *name = NULL;
		int r;

		begin = begin < n ? begin : n;
		while (end > begin && strchr(spaces, text[end - 1]))
			end--;
		name = mr_str_ndup(text + begin, end - begin);
		r = parse_name(name, &bit, err);
		if (r < 0)
			return r;
		mask |= bit;
		if (text[n] == '\0')
			break;
		text += n + 1;
	}
	*ret = mask;
	return 0;
}

bool mr_spec_names_failure(const struct mr_spec *spec, enum mr_failure_mode mode)
{
	uint32_t named = 0;

	mr_assert(mr_failures_parse(spec->failure_modes, &named, NULL) == 0);
	return named & MR_FAILURE_BIT(mode);
}

uint32_t mr_spec_failures(const struct mr_spec *spec)
{
	uint32_t mask = 0;

	mr_assert(mr_failures_parse(spec->failure_modes, &mask, NULL) == 0);
	if (spec->failure_cpu_spike)
		mask |= MR_FAILURE_BIT(MR_FAILURE_cpu_spike);
	if (spec->failure_invalid_config || spec->failure_invalid_param_types ||
	    spec->failure_unexpected_api_calls)
		mask |= MR_FAILURE_BIT(MR_FAILURE_user_misuse);
	if (spec->failure_schema_drift || spec->failure_unexpected_input ||
	    spec->failure_corrupt_payload)
		mask |= MR_FAILURE_BIT(MR_FAILURE_schema_drift);
	if (spec->failure_broken_auth)
		mask |= MR_FAILURE_BIT(MR_FAILURE_flaky_upstream);
	if (spec->failure_hostile_input || spec->failure_malicious_data ||
	    (mask & MR_FAILURE_BIT(MR_FAILURE_malicious_data)))
		mask |= MR_FAILURE_BIT(MR_FAILURE_hostile_input);
	return mask & ~MR_FAILURE_BIT(MR_FAILURE_malicious_data);
}

char *mr_failures_print(uint32_t mask)
{
	mr_auto_free char *text = mr_str_dup("");

	for (unsigned int i = 0; i < N_ELEMENTS(rows); i++) {
		char *longer;

		if (!(mask & MR_FAILURE_BIT(i)))
			continue;
		longer = mr_str_format("%s%s%s", text, text[0] ? "," : "", rows[i].name);
		mr_freep(&text);
		text = longer;
	}
	return mr_take_ptr(text);
}

/* --- FAILURE_MODES, and the flags that mean a mode ----------------------------------------- */

/* A text, or a list of such texts, lists included. */
static int collect(const struct mr_json *json, uint32_t *mask, struct mr_error *err)
{
	const char *text = NULL;
	uint32_t some = 0;
	int r;

	if (json_is_null(json->value))
		return 0;
	if (!json_is_array(json->value)) {
		r = mr_json_get_string(json, &text, err);
		if (r < 0)
			return r;
		r = mr_failures_parse(text, &some, err);
		*mask |= some;
		return r < 0 ? mr_json_wrap(json, r, err) : 0;
	}
	for (size_t i = 0; i < json_array_size(json->value); i++) {
		struct mr_json item = mr_json_item(json, i);

		r = collect(&item, mask, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int mr_preset_take_failures(struct mr_spec *spec, const struct mr_json *json, enum mr_origin origin,
			    struct mr_error *err)
{
	mr_auto_free char *text = NULL;
	uint32_t mask = 0;
	int r = collect(json, &mask, err);

	if (r < 0 || !mask)
		return r;
	text = mr_failures_print(mask);
	r = mr_spec_set_labelled(spec, MR_FIELD_failure_modes, text, false, origin, NULL, err);
	return r < 0 ? mr_json_wrap(json, r, err) : 0;
}

/* --- checks ------------------------------------------------------------------------------------ */

const char *mr_failure_hindrance(const struct mr_spec *spec, enum mr_failure_mode mode)
{
	switch (rows[mode].needs) {
	case MR_FAILURE_NEEDS_LINK:
		if (!mr_spec_has_link(spec))
			return "it needs a network of the sandbox's own: net.mode loopback, stub "
			       "or allowlist";
		return spec->sandbox_level < 2 ? "level 1 keeps the capability to take it away; "
						 "accepted: level 2 to 5"
					       : NULL;
	case MR_FAILURE_NEEDS_MOCKS:
		if (spec->net_mode != MR_NET_STUB)
			return "it needs answers of ours: net.mode=stub (--net stub --mock ...)";
		break;
	case MR_FAILURE_NEEDS_NOTHING:
	case MR_FAILURE_NEEDS_GROUP:
	case MR_FAILURE_NEEDS_CALLS:
		break;
	}
	if (mode == MR_FAILURE_memory && (spec->limits_memory_max_bytes == MR_UNLIMITED ||
					  spec->limits_memory_max_bytes <= MR_FAILURE_MEMORY_MIN))
		return "it takes away of a limit: limits.memory_max_bytes over 4 MiB (--memory)";
	if (mode == MR_FAILURE_hostile_input && spec->sandbox_tty)
		return "with a terminal (--tty) the input comes from it";
	return NULL;
}

/* A knob without the mode that it is for is no silent part of a request. */
static int check_knobs(const struct mr_spec *spec, const struct mr_spec_labels *labels,
		       uint32_t asked, struct mr_error *err)
{
	static const struct {
		enum mr_field_id id;
		enum mr_failure_mode mode;
	} knobs[] = {
		{ MR_FIELD_failure_timeout_ms, MR_FAILURE_timeout },
		{ MR_FIELD_failure_upstream_failures, MR_FAILURE_flaky_upstream },
		{ MR_FIELD_failure_schema_mismatches, MR_FAILURE_schema_drift },
		{ MR_FIELD_failure_thread_burst, MR_FAILURE_concurrency_spike },
		{ MR_FIELD_failure_task_burst, MR_FAILURE_concurrency_spike },
		{ MR_FIELD_failure_disk_delay_ms, MR_FAILURE_disk },
	};

	for (size_t i = 0; i < N_ELEMENTS(knobs); i++) {
		const uint64_t value = mr_spec_get(spec, knobs[i].id);

		if ((asked & MR_FAILURE_BIT(knobs[i].mode)) || value == 0 ||
		    value == mr_spec_fields()[knobs[i].id].default_value ||
		    mr_spec_tolerates(spec, MR_PRESET_FAILURES))
			continue;
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "%s: is for the failure mode %s alone (failure.modes, FAILURE_MODES)",
			      mr_spec_label(labels, knobs[i].id), rows[knobs[i].mode].name);
	}
	if (spec->failure_hostile[0] != '\0' && !(asked & MR_FAILURE_BIT(MR_FAILURE_hostile_input)))
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "%s: is for the failure mode hostile_input alone (failure.modes, "
			      "FAILURE_MODES)",
			      mr_spec_label(labels, MR_FIELD_failure_hostile));
	if (spec->failure_upstream_failures > spec->failure_upstream_requests)
		return mr_err(err, MR_E_USAGE, EINVAL, "%s: is over failure.upstream_requests",
			      mr_spec_label(labels, MR_FIELD_failure_upstream_failures));
	if (spec->failure_schema_mismatches > spec->failure_schema_checks)
		return mr_err(err, MR_E_USAGE, EINVAL, "%s: is over failure.schema_checks",
			      mr_spec_label(labels, MR_FIELD_failure_schema_mismatches));
	return 0;
}

int mr_spec_check_failures(const struct mr_spec *spec, const struct mr_spec_labels *labels,
			   struct mr_error *err)
{
	const uint32_t asked = mr_spec_failures(spec);

	for (unsigned int i = 0; i < N_ELEMENTS(rows); i++) {
		const char *why;

		if (!(asked & MR_FAILURE_BIT(i)) || mr_spec_tolerates(spec, MR_PRESET_FAILURES))
			continue;
		why = mr_failure_hindrance(spec, (enum mr_failure_mode)i);
		if (why)
			return mr_err(err, MR_E_USAGE, EINVAL,
				      "%s: %s: %s; leave it out, or accept that with best_effort "
				      "(--best-effort " MR_PRESET_FAILURES ")",
				      mr_spec_label(labels, MR_FIELD_failure_modes), rows[i].name,
				      why);
	}
	return check_knobs(spec, labels, asked, err);
}
