/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pynames: the names that a Python file imports, decorates with and sets as constants
 */
#pragma once

#include <stddef.h>

enum mr_pynames_kind { MR_PYNAMES_IMPORT, MR_PYNAMES_DECORATOR, MR_PYNAMES_CONSTANT };

/* name: n bytes, not terminated, within the text. */
typedef void mr_pynames_fn(enum mr_pynames_kind kind, const char *name, size_t n, size_t line,
			   void *owner);

/* Any bytes are a text; what is no Python gives fewer names. */
void mr_pynames_each(const char *text, size_t size, mr_pynames_fn *fn, void *owner);
