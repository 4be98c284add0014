/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen-docs: the tables that presets are made, combined and adapted by, and what workflows are tried
 * under
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/str.h"
#include "runtime/scenario/adapt.h"
#include "runtime/scenario/draws.h"
#include "runtime/scenario/profile.h"
#include "runtime/scenario/scenario.h"
#include "runtime/stub/input.h"
#include "tools/gen-docs.h"

void mr_docs_put_profiles(void)
{
	size_t n;
	const struct mr_profile *rows = mr_profile_rows(&n);

	for (size_t i = 0; i < n; i++) {
		put_strong(rows[i].name);
		printf("%s\n\t", rows[i].core ? " (core)" : "");
		put(rows[i].help);
		printf(".\n\n");
		for (unsigned int level = 0; level < MR_PROFILE_LEVELS; level++) {
			printf("\t%s: ", mr_profile_level_name((enum mr_profile_level)level));
			put(rows[i].variables[level]);
			printf("\n\n");
		}
	}
}

void mr_docs_put_draws(void)
{
	size_t n;
	const struct mr_draw *rows = mr_draws_rows(&n);

	for (size_t i = 0; i < n; i++) {
		put_strong(rows[i].name);
		printf("\n\t");
		for (size_t k = 0; k < rows[i].n; k++) {
			printf("%s", k > 0 ? ", " : "");
			put(rows[i].values[k]);
		}
		if (rows[i].chance == 0)
			printf("; only with a failure mode that asks for it");
		else if (rows[i].chance < 1000)
			printf("; in %u of 1000 presets", rows[i].chance);
		printf(".\n\n");
	}
}

void mr_docs_put_keywords(void)
{
	static const struct {
		const char *word, *profiles;
	} rows[] = {
#define KEYWORD(word_, profiles_) { word_, profiles_ },
#include "runtime/scenario/keywords.def"
#undef KEYWORD
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		put_strong(rows[i].word);
		printf("\n\t");
		put(strcmp(rows[i].profiles, "*") == 0 ? "all" : rows[i].profiles);
		printf("\n\n");
	}
}

void mr_docs_put_combine_rules(void)
{
	static const struct {
		const char *variable, *rule;
	} rows[] = {
#define COMBINE(variable_, rule_) { #variable_, #rule_ },
#include "runtime/scenario/combine.def"
#undef COMBINE
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const bool is_first = i == 0 || strcmp(rows[i - 1].rule, rows[i].rule) != 0;

		if (is_first) {
			printf("%s", i > 0 ? "\n\n" : "");
			put_strong(rows[i].rule);
			printf("\n\t");
		}
		printf("%s", is_first ? "" : ", ");
		put(rows[i].variable);
	}
	printf("\n\n");
}

/* "VARIABLE up" of "VARIABLE+", or down for a rule that votes for the opposite. */
static void put_steps(const struct mr_adapt_rule *rule)
{
	const char *steps = rule->steps;

	for (bool is_first = true; *steps; is_first = false) {
		const size_t n = strcspn(steps, "+-");
		mr_auto_free char *name = mr_str_ndup(steps, n);

		printf("%s", is_first ? "" : ", ");
		put(name);
		printf(" %s", (steps[n] == '+') == (rule->weight > 0) ? "up" : "down");
		steps += n + 1;
		steps += *steps == ' ';
	}
}

void mr_docs_put_adapt_rules(void)
{
	struct mr_adapt_rule rule;

	for (size_t i = 0; mr_adapt_rule_get(i, &rule); i++) {
		put_strong(rule.name);
		printf("\n\t%s of ", rule.statistic);
		put(rule.series);
		printf(" %s %g%s%s: ", rule.test, rule.bound, rule.when[0] ? ", and " : "",
		       rule.when);
		put_steps(&rule);
		printf("%s\n\n", rule.of_drawn ? " (generate)" : "");
	}
}

void mr_docs_put_scenarios(void)
{
	size_t n;
	const struct mr_scenario *rows = mr_scenario_rows(&n);

	for (size_t i = 0; i < n; i++) {
		put_strong(rows[i].name);
		printf("%s\n\t", rows[i].is_default ? " (default)" : "");
		put(rows[i].variables);
		printf("\n\n\tIf it fails: ");
		put(rows[i].advice);
		printf(".\n\n");
	}
}

void mr_docs_put_edge_cases(void)
{
	static const struct {
		const char *variable, *file, *content, *url, *action;
	} rows[] = {
#define EDGE_CASE(variable_, file_, content_, url_, action_) \
	{ variable_, file_, content_, url_, action_ },
#include "runtime/flow/edge_cases.def"
#undef EDGE_CASE
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		put_strong(rows[i].variable);
		printf("\n\tfile ");
		put(rows[i].file);
		printf(rows[i].content && rows[i].content[0] ? ": " : ", empty");
		put(rows[i].content ? rows[i].content : "");
		printf("\n\n\t");
		put(rows[i].url);
		printf(": ");
		put(rows[i].action);
		printf("\n\n");
	}
}

void mr_docs_put_strategies(void)
{
	const struct mr_input_row *rows = mr_input_rows();

	for (size_t i = 0; i < MR_INPUT_STRATEGIES; i++) {
		const char *mode = mr_input_mode(rows[i].name);

		put_strong(rows[i].name);
		printf("\n\t");
		put(rows[i].help);
		if (mode) {
			printf(". Another way of the failure mode ");
			put_strong(mode);
		}
		printf(".\n\n");
	}
}
