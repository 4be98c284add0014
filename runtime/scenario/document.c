/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Document: one preset or many in one JSON text
 *
 * The forms are told apart by what stands in them: variables are in capitals, so an
 * object with a member in small letters is a preset of none of them.
 */
#include "runtime/scenario/document.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"

static int take(const struct mr_json *preset, mr_document_fn *fn, void *owner, struct mr_error *err)
{
	int r = mr_json_want_object(preset, err);

	return r < 0 ? r : fn(preset, owner, err);
}

static int each_item(const struct mr_json *list, mr_document_fn *fn, void *owner,
		     struct mr_error *err)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < json_array_size(list->value); i++) {
		struct mr_json item = mr_json_item(list, i);

		r = take(&item, fn, owner, err);
	}
	return r;
}

/* An object whose members are all objects, and named in small letters. */
static bool is_mapping(json_t *object)
{
	const char *name;
	json_t *value;

	json_object_foreach (object, name, value)
		if (name[0] < 'a' || name[0] > 'z' || !json_is_object(value))
			return false;
	return json_object_size(object) > 0;
}

static int each_member(const struct mr_json *object, mr_document_fn *fn, void *owner,
		       struct mr_error *err)
{
	const char *name;
	json_t *value;
	int r = 0;

	json_object_foreach (object->value, name, value) {
		struct mr_json member;

		mr_json_member(object, name, &member);
		r = is_mapping(value) ? each_member(&member, fn, owner, err)
				      : take(&member, fn, owner, err);
		if (r < 0)
			return r;
	}
	return r;
}

int mr_document_each(const struct mr_json *root, mr_document_fn *fn, void *owner,
		     struct mr_error *err)
{
	static const char *const keys[] = { "schema", "seed", "presets", NULL };
	struct mr_json presets;
	int r;

	if (json_is_array(root->value))
		return each_item(root, fn, owner, err);
	if (json_is_object(root->value) && mr_json_member(root, "presets", &presets)) {
		r = mr_json_check_keys(root, keys, err);
		if (r == 0)
			r = mr_json_want_array(&presets, err);
		return r < 0 ? r : each_item(&presets, fn, owner, err);
	}
	if (is_mapping(root->value))
		return each_member(root, fn, owner, err);
	return take(root, fn, owner, err);
}

/* 0.05 as text with the sign: "5%". */
static int set_percent(json_t *preset, const char *name, uint64_t ppm, struct mr_error *err)
{
	char number[MR_UNITS_SIZE];
	mr_auto_free char *text = NULL;

	/* Was read as percent: the number itself in ten thousandths. */
	if (ppm > 10000)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "%s: over 1, which is no fraction; accepted: 0 to 1, or a text with "
			      "%%",
			      name);
	text = mr_str_format("%s%%", mr_units_print_milli(number, ppm * 10));
	json_object_set_new(preset, name, json_string(text));
	return 0;
}

int mr_document_losses(json_t *preset, enum mr_loss_unit unit, char **ret_warning,
		       struct mr_error *err)
{
	static const char *const names[] = { "PACKET_LOSS", "PACKET_DUPLICATION" };

	*ret_warning = NULL;
	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		struct mr_json json = mr_json_root(json_object_get(preset, names[i]), "");
		mr_auto_free char *text = NULL;
		uint64_t ppm = 0;
		int r = 0;

		if (!json.value || json_is_boolean(json.value) ||
		    mr_json_get_text(&json, &text, NULL) < 0 || strchr(text, '%') ||
		    mr_units_parse_percent(text, &ppm, NULL) < 0 || ppm == 0)
			continue;
		if (unit == MR_LOSS_FRACTION)
			r = set_percent(preset, names[i], ppm, err);
		else if (ppm < 10000 && !*ret_warning)
			*ret_warning = mr_str_format("%s: %s is %s percent; if it was meant as a "
						     "fraction of 1, say "
						     "--loss-unit fraction",
						     names[i], text, text);
		if (r < 0)
			return r;
	}
	return 0;
}
