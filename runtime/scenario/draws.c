/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws: the values that presets are drawn from and stepped along
 *
 * draws.def gives the values, orders.def what binds two variables to each other.
 * The generator stays inside these bounds, combine and check refuse what breaks
 * them, adapt does not step over them.
 */
#include "runtime/scenario/draws.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"

#define DRAW(name_, grammar_, chance_, ...) \
	static const char *const values_##name_[] = { __VA_ARGS__ };
#include "runtime/scenario/draws.def"
#undef DRAW

static const struct mr_draw draws[] = {
#define DRAW(name_, grammar_, chance_, ...) \
	{ .name = #name_,                   \
	  .grammar = MR_DRAW_##grammar_,    \
	  .chance = (chance_),              \
	  .values = values_##name_,         \
	  .n = N_ELEMENTS(values_##name_) },
#include "runtime/scenario/draws.def"
#undef DRAW
};

static const struct mr_order orders[] = {
#define ORDER(smaller_, larger_, grammar_, why_) { #smaller_, #larger_, MR_DRAW_##grammar_, why_ },
#include "runtime/scenario/orders.def"
#undef ORDER
};

const struct mr_draw *mr_draws_rows(size_t *ret_n)
{
	*ret_n = N_ELEMENTS(draws);
	return draws;
}

const struct mr_draw *mr_draws_find(const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(draws); i++)
		if (strcmp(draws[i].name, name) == 0)
			return &draws[i];
	return NULL;
}

const struct mr_order *mr_draws_orders(size_t *ret_n)
{
	*ret_n = N_ELEMENTS(orders);
	return orders;
}

static int parse(enum mr_draw_grammar grammar, const char *text, uint64_t *ret)
{
	switch (grammar) {
	case MR_DRAW_SIZE:
		return mr_units_parse_size(text, ret, NULL);
	case MR_DRAW_BANDWIDTH:
		return mr_units_parse_bandwidth(text, ret, NULL);
	case MR_DRAW_PERCENT:
		return mr_units_parse_percent(text, ret, NULL);
	case MR_DRAW_DECIMAL:
	case MR_DRAW_NUMBER:
		return mr_units_parse_milli(text, ret, NULL);
	}
	return -EINVAL;
}

static uint64_t listed_amount(const struct mr_draw *draw, size_t index)
{
	uint64_t amount = 0;

	mr_assert(parse(draw->grammar, draw->values[index], &amount) == 0);
	return amount;
}

json_t *mr_draws_json(const struct mr_draw *draw, size_t index)
{
	if (draw->grammar != MR_DRAW_NUMBER)
		return json_string(draw->values[index]);
	return json_integer((json_int_t)(listed_amount(draw, index) / 1000));
}

bool mr_draws_amount(enum mr_draw_grammar grammar, json_t *value, uint64_t *ret)
{
	const struct mr_json json = mr_json_root(value, "");
	mr_auto_free char *text = NULL;

	if (!value || mr_json_get_text(&json, &text, NULL) < 0)
		return false;
	if (mr_str_equal_nocase(text, "unlimited")) {
		*ret = UINT64_MAX;
		return true;
	}
	return parse(grammar, text, ret) == 0;
}

size_t mr_draws_at_least(const struct mr_draw *draw, uint64_t amount)
{
	size_t i = 0;

	while (i < draw->n && listed_amount(draw, i) < amount)
		i++;
	return i;
}

void mr_draws_range(const struct mr_draw *draw, const json_t *preset, size_t *ret_from,
		    size_t *ret_to)
{
	uint64_t bound = 0;

	*ret_from = 0;
	*ret_to = draw->n;
	for (size_t i = 0; i < N_ELEMENTS(orders); i++) {
		const struct mr_order *o = &orders[i];
		size_t at;

		if (strcmp(o->larger, draw->name) == 0 &&
		    mr_draws_amount(o->grammar, json_object_get(preset, o->smaller), &bound)) {
			at = mr_draws_at_least(draw, bound);
			*ret_from = at > *ret_from ? at : *ret_from;
		}
		if (strcmp(o->smaller, draw->name) == 0 &&
		    mr_draws_amount(o->grammar, json_object_get(preset, o->larger), &bound)) {
			at = mr_draws_at_least(draw, bound + (bound != UINT64_MAX));
			*ret_to = at < *ret_to ? at : *ret_to;
		}
	}
}

char *mr_draws_text(const json_t *value)
{
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_SORT_KEYS |
					       JSON_REAL_PRECISION(15));

	if (!text)
		return mr_str_dup("?");
	if (strlen(text) > MR_DRAWS_TEXT_SIZE)
		memcpy(text + MR_DRAWS_TEXT_SIZE - 3, "...", 4);
	for (char *c = text; *c; c++)
		if (*c == 0x7f)
			*c = '?';
	return text;
}

/* "MIN_BANDWIDTH 50Mbps of a.json" */
static char *describe(const json_t *preset, const json_t *origins, const char *name)
{
	mr_auto_free char *value = mr_draws_text(json_object_get(preset, name));
	const char *origin = json_string_value(json_object_get(origins, name));

	return mr_str_format("%s %s%s%s", name, value, origin ? " of " : "", origin ? origin : "");
}

int mr_draws_check_orders(const json_t *preset, const json_t *origins, struct mr_error *err)
{
	for (size_t i = 0; i < N_ELEMENTS(orders); i++) {
		const struct mr_order *o = &orders[i];
		uint64_t smaller = 0, larger = 0;

		if (!mr_draws_amount(o->grammar, json_object_get(preset, o->smaller), &smaller) ||
		    !mr_draws_amount(o->grammar, json_object_get(preset, o->larger), &larger) ||
		    smaller <= larger)
			continue;
		mr_auto_free char *a = describe(preset, origins, o->smaller);
		mr_auto_free char *b = describe(preset, origins, o->larger);

		return mr_err(err, MR_E_USAGE, EINVAL, "%s is over %s: %s", a, b, o->why);
	}
	return 0;
}
