/* SPDX-License-Identifier: Apache-2.0 */
/*
 * VM: the variable VM_SETTINGS, and which image a system has
 *
 * One row of members[] is one member of the variable and the knob that it sets.  Which of the
 * images counts is decided when all is known, by sandbox.os: OS_TYPE may come before or after.
 */
#include <errno.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/spec/internal.h"
#include "runtime/spec/spec.h"

#define WALL_MS 300000 /* of a machine, where nobody says */
#define MEMORY_DEFAULT (mr_spec_fields()[MR_FIELD_sandbox_vm_memory_bytes].default_value)

static const struct member {
	const char *name;
	enum mr_field_id id;
} members[] = {
	{ "image", MR_FIELD_sandbox_vm_image },
	{ "linux_image", MR_FIELD_sandbox_vm_linux_image },
	{ "windows_image", MR_FIELD_sandbox_vm_windows_image },
	{ "macos_image", MR_FIELD_sandbox_vm_macos_image },
	{ "memory", MR_FIELD_sandbox_vm_memory_bytes },
	{ "timeout", MR_FIELD_limits_wall_ms },
};

static int take_member(struct mr_spec *spec, const struct mr_json *object, const char *name,
		       enum mr_origin origin, struct mr_error *err)
{
	struct mr_str_nearest nearest;
	char quoted[MR_STR_QUOTE_SIZE];
	struct mr_json json;

	mr_str_nearest_init(&nearest, name);
	for (size_t i = 0; i < N_ELEMENTS(members); i++) {
		if (strcmp(members[i].name, name) == 0 && mr_json_member(object, name, &json))
			return mr_spec_set_json(spec, members[i].id, &json, true, origin, err);
		mr_str_nearest_offer(&nearest, members[i].name);
	}
	mr_str_quote(quoted, sizeof(quoted), name);
	if (nearest.best)
		return mr_json_err(object, err, "unknown member %s; did you mean \"%s\"?", quoted,
				   nearest.best);
	return mr_json_err(object, err,
			   "unknown member %s; accepted: image, linux_image, windows_image, "
			   "macos_image, memory, timeout",
			   quoted);
}

int mr_preset_take_vm(struct mr_spec *spec, const struct mr_json *json, enum mr_origin origin,
		      struct mr_error *err)
{
	const char *name;
	json_t *value;
	int r = mr_json_want_object(json, err);

	if (r < 0)
		return r;
	json_object_foreach (json->value, name, value) {
		r = take_member(spec, json, name, origin, err);
		if (r < 0)
			return r;
	}
	return 0;
}

void mr_preset_allow_for_boot(struct mr_spec *spec)
{
	if (spec->origin[MR_FIELD_limits_wall_ms] == MR_ORIGIN_DEFAULT && mr_spec_wants_vm(spec))
		mr_spec_set_number(spec, MR_FIELD_limits_wall_ms, WALL_MS, MR_ORIGIN_DEFAULT);
}

const char *mr_spec_vm_image(const struct mr_spec *spec)
{
	const char *const own[] = {
		[MR_OS_LINUX] = spec->sandbox_vm_linux_image,
		[MR_OS_WINDOWS] = spec->sandbox_vm_windows_image,
		[MR_OS_MACOS] = spec->sandbox_vm_macos_image,
	};

	return own[spec->sandbox_os][0] ? own[spec->sandbox_os] : spec->sandbox_vm_image;
}

bool mr_spec_wants_vm(const struct mr_spec *spec)
{
	return spec->sandbox_os != MR_OS_LINUX || mr_spec_vm_image(spec)[0] != '\0';
}

/* What is asked of a machine that there will not be is no silent part of a request. */
int mr_spec_check_vm(const struct mr_spec *spec, const struct mr_spec_labels *labels,
		     struct mr_error *err)
{
	if (mr_spec_wants_vm(spec))
		return 0;
	if (spec->sandbox_vm_windows_image[0] || spec->sandbox_vm_macos_image[0])
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "VM_SETTINGS: there is no image for linux; %s (OS_TYPE) says which "
			      "system is meant",
			      mr_spec_label(labels, MR_FIELD_sandbox_os));
	if (spec->sandbox_vm_memory_bytes != MEMORY_DEFAULT)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "%s: there is no machine that could have it; name its image "
			      "(VM_SETTINGS: image, sandbox.vm_image)",
			      mr_spec_label(labels, MR_FIELD_sandbox_vm_memory_bytes));
	return 0;
}
