/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scan: the sections of the Python files below a folder
 *
 * A section is a module, a class, a function, a method or a function within one.  Python's own parser
 * finds them, in a sandbox; nothing of the files is run.
 */
#pragma once

#include "runtime/base/json.h"

struct mr_error;

#define MR_SECTION_SCHEMA "menace.sections/1"

struct mr_section_scan_opts {
	const char *folder;
	const char *program; /* path of menace-run */
	const char *store; /* as of struct mr_child_opts */
	const char *cache; /* folder for what was found; NULL: none is kept */
};

/* *ret: {"schema", "folder", "files": [{"path", "size", "sha256", "sections" or "error"}], "left_out",
 * "counts": {"files", "sections", "errors", "cached"}}, new reference; menace(1) says more. */
int mr_section_scan(const struct mr_section_scan_opts *opts, json_t **ret, struct mr_error *err);
/* What names a section in a repository: "FILE:NAME", a module "FILE"; malloc'd. */
char *mr_section_id(const char *path, const char *name);
