/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the spec document, presets and assignments
 *
 * The first byte chooses the reader.  Holds: a refusal is MR_E_USAGE with a
 * printable message; the canonical text of what was accepted is accepted again
 * and prints the same; a copy prints the same.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/spec/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const struct mr_error *err)
{
	mr_assert(err->code == MR_E_USAGE && err->msg[0] != '\0');
	for (const char *p = err->msg; *p; p++)
		mr_assert(*p >= 0x20 && *p < 0x7f);
}

static void check_canonical(const struct mr_spec *spec)
{
	mr_auto_free char *text = mr_spec_print_canonical(spec);
	mr_auto_json json_t *explained = mr_spec_explain_json(spec);
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec again;
	struct mr_spec copy;

	mr_assert(explained != NULL);
	mr_spec_init(&again);
	mr_assert(mr_spec_parse_json(&again, text, strlen(text), "canonical", &err) == 0);
	mr_auto_free char *second = mr_spec_print_canonical(&again);

	mr_assert(strcmp(text, second) == 0);
	mr_spec_copy(&copy, &again);
	mr_auto_free char *third = mr_spec_print_canonical(&copy);

	mr_assert(strcmp(text, third) == 0);
	mr_spec_deinit(&copy);
	mr_spec_deinit(&again);
}

/* Text that holds no NUL, as arguments do. */
static char *as_argument(const char *text, size_t size)
{
	return mr_str_ndup(text, size);
}

static int apply_list_arguments(struct mr_spec *spec, const char *text, struct mr_error *err)
{
	for (enum mr_mount_kind kind = MR_MOUNT_RO; kind <= MR_MOUNT_HIDE; kind++)
		if (mr_spec_add_mount(spec, kind, text, err) < 0)
			check_refusal(err);
	if (mr_spec_add_env_pass(spec, text, err) < 0)
		check_refusal(err);
	if (mr_spec_add_best_effort(spec, text, err) < 0)
		check_refusal(err);
	return 0;
}

static int apply(struct mr_spec *spec, uint8_t choice, const char *text, size_t size,
		 struct mr_error *err)
{
	mr_auto_free char *argument = as_argument(text, size);

	switch (choice % 4) {
	case 0:
		return mr_spec_parse_json(spec, text, size, "doc", err);
	case 1:
		return mr_preset_apply_json(spec, text, size, "preset", MR_ORIGIN_PRESET, err);
	case 2:
		return mr_spec_set_assignment(spec, argument, err);
	default:
		return apply_list_arguments(spec, argument, err);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec spec;
	bool text;

	if (size < 1)
		return 0;
	mr_spec_init(&spec);
	if (data[0] & 0x80)
		mr_spec_add_best_effort(&spec, "GPU_LIMIT,FAILURE_MODES,CONCURRENCY_LEVEL", &err);
	/* What is not UTF-8 has a canonical text that is not meant to be read. */
	text = mr_str_utf8_valid(data + 1, size - 1);
	if (apply(&spec, data[0], (const char *)data + 1, size - 1, &err) < 0) {
		check_refusal(&err);
	} else {
		if (text)
			check_canonical(&spec);
		if (mr_spec_validate(&spec, &err) < 0)
			check_refusal(&err);
	}
	mr_spec_deinit(&spec);
	return 0;
}
