/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A number of the command line, or the end: a helper that took "" or "12x" for some number
 * would test something else than its caller says.
 */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static inline unsigned long long number_of(const char *text)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno) {
		fprintf(stderr, "\"%s\" is not a number\n", text);
		exit(2);
	}
	return value;
}
