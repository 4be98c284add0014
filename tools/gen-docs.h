/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen-docs: what its files share
 */
#pragma once

#include <stdio.h>
#include <string.h>

/* Text that scdoc must not take for markup. */
static inline void put(const char *text)
{
	for (; *text; text++) {
		if (strchr("\\*_#[]<>~`|", *text))
			putchar('\\');
		putchar(*text);
	}
}

static inline void put_strong(const char *text)
{
	putchar('*');
	put(text);
	putchar('*');
}

/* The tables of runtime/scenario. */
void mr_docs_put_profiles(void);
void mr_docs_put_draws(void);
void mr_docs_put_keywords(void);
void mr_docs_put_combine_rules(void);
void mr_docs_put_adapt_rules(void);
/* That of runtime/backend. */
void mr_docs_put_backends(void);
void mr_docs_put_scenarios(void);
void mr_docs_put_edge_cases(void);
void mr_docs_put_strategies(void);
/* The schema, as JSON on standard output; the exit status. */
int mr_docs_put_schema(void);
