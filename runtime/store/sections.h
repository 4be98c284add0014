/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sections of an SQL text: "--@ NAME" on a line of its own begins one
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Texts of runtime/store/NAME.sql, put into the program by the build; NUL at the end. */
extern const char mr_sql_schema[];
extern const char mr_sql_statements[];

struct mr_section {
	char name[48];
	const char *text; /* borrows */
	size_t size;
};
/* The first section at or behind *at (start with text), which moves behind it. False: no more. */
bool mr_section_next(const char **at, struct mr_section *ret);
bool mr_section_find(const char *text, const char *name, struct mr_section *ret);
