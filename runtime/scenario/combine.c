/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Combine: several presets into one, by the rules of combine.def
 *
 * The parts are taken in their order, variable by variable; one function is one
 * rule.  What the whole may not ask for at once (orders.def) is refused at the end,
 * with the parts that the two values came from.
 */
#include "runtime/scenario/combine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/scenario/draws.h"
#include "runtime/scenario/modes.h"

struct combination {
	json_t *preset, *origins, *rows;
};

/* One variable of one part meets what the parts before gave. */
struct meeting {
	const char *name, *label;
	json_t *before, *value;
	const char *before_label;
};

/* The value that both give, new reference; NULL with the error filled. */
typedef json_t *combine_fn(const struct meeting *m, struct mr_error *err);

static json_t *take_last(const struct meeting *m, struct mr_error *err)
{
	(void)err;
	return json_incref(m->value);
}

static json_t *take_union(const struct meeting *m, struct mr_error *err)
{
	mr_auto_json json_t *modes = json_array();

	(void)err;
	mr_modes_add(modes, m->before);
	mr_modes_add(modes, m->value);
	return mr_modes_json(modes);
}

static json_t *take_join(const struct meeting *m, struct mr_error *err)
{
	const char *before = json_string_value(m->before), *value = json_string_value(m->value);
	mr_auto_free char *both = NULL;

	(void)err;
	if (!before || !value || strcmp(before, value) == 0)
		return json_incref(m->value);
	both = mr_str_format("%s+%s", before, value);
	return json_string(both);
}

static bool is_true(json_t *value)
{
	const struct mr_json json = mr_json_root(value, "");
	mr_auto_free char *text = NULL;
	bool flag = false;

	return mr_json_get_text(&json, &text, NULL) == 0 &&
	       mr_units_parse_flag(text, &flag, NULL) == 0 && flag;
}

static json_t *take_any(const struct meeting *m, struct mr_error *err)
{
	(void)err;
	return json_incref(is_true(m->before) ? m->before : m->value);
}

static json_t *take_highest(const struct meeting *m, struct mr_error *err)
{
	uint64_t before = 0, value = 0;

	(void)err;
	mr_draws_amount(MR_DRAW_NUMBER, m->before, &before);
	mr_draws_amount(MR_DRAW_NUMBER, m->value, &value);
	return json_incref(before > value ? m->before : m->value);
}

static json_t *take_same(const struct meeting *m, struct mr_error *err)
{
	mr_auto_free char *before = NULL;
	mr_auto_free char *value = NULL;

	if (json_equal(m->before, m->value))
		return json_incref(m->value);
	before = mr_draws_text(m->before);
	value = mr_draws_text(m->value);
	mr_err(err, MR_E_USAGE, EINVAL,
	       "%s is %s in %s and %s in %s: a run has one; take it out of one of them", m->name,
	       before, m->before_label, value, m->label);
	return NULL;
}

struct rule {
	const char *name;
	combine_fn *fn;
};
static const struct rule rule_last = { "last", take_last };
static const struct rule rule_UNION = { "union", take_union };
static const struct rule rule_JOIN = { "join", take_join };
static const struct rule rule_ANY = { "any", take_any };
static const struct rule rule_HIGHEST = { "highest", take_highest };
static const struct rule rule_SAME = { "same", take_same };
static const struct rule rule_DROP = { "drop", NULL }; /* add_variable() never asks it */

static const struct {
	const char *variable;
	const struct rule *rule;
} rules[] = {
#define COMBINE(variable_, how_) { #variable_, &rule_##how_ },
#include "runtime/scenario/combine.def"
#undef COMBINE
};

static const struct rule *find_rule(const char *variable)
{
	for (size_t i = 0; i < N_ELEMENTS(rules); i++)
		if (strcmp(rules[i].variable, variable) == 0)
			return rules[i].rule;
	return &rule_last;
}

const char *mr_combine_rule(const char *variable)
{
	return find_rule(variable)->name;
}

static void add_row(struct combination *c, const struct meeting *m, const struct rule *rule,
		    json_t *value)
{
	json_array_append_new(c->rows,
			      json_pack("{s:s, s:s, s:O, s:[{s:O, s:s}, {s:O, s:s}]}", "variable",
					m->name, "rule", rule->name, "value", value, "of", "value",
					m->before, "from", m->before_label, "value", m->value,
					"from", m->label));
}

static int add_variable(struct combination *c, struct meeting *m, struct mr_error *err)
{
	const struct rule *rule = find_rule(m->name);
	mr_auto_json json_t *value = NULL;

	if (rule == &rule_DROP)
		return 0;
	m->before = json_object_get(c->preset, m->name);
	m->before_label = json_string_value(json_object_get(c->origins, m->name));
	value = m->before ? rule->fn(m, err) : json_incref(m->value);
	if (!value)
		return -EINVAL;
	if (m->before)
		add_row(c, m, rule, value);
	if (value != m->before)
		json_object_set_new(c->origins, m->name, json_string(m->label));
	json_object_set(c->preset, m->name, value);
	return 0;
}

static int add_part(struct combination *c, const struct mr_combine_part *part, struct mr_error *err)
{
	const char *name;
	json_t *value;

	json_object_foreach (part->preset, name, value) {
		struct meeting m = { .name = name, .label = part->label, .value = value };
		int r = add_variable(c, &m, err);

		if (r < 0)
			return r;
	}
	return 0;
}

int mr_combine(const struct mr_combine_part *parts, size_t n, json_t **ret, json_t **ret_rows,
	       struct mr_error *err)
{
	mr_auto_json json_t *preset = json_object();
	mr_auto_json json_t *origins = json_object();
	mr_auto_json json_t *rows = json_array();
	struct combination c = { preset, origins, rows };
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_part(&c, &parts[i], err);
	if (r == 0)
		r = mr_draws_check_orders(preset, origins, err);
	if (r < 0)
		return r;
	*ret = mr_take_ptr(preset);
	if (ret_rows)
		*ret_rows = mr_take_ptr(rows);
	return 0;
}
