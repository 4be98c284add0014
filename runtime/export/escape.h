/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Escape: text that programs under test chose, in formats that are not JSON
 */
#pragma once

#include <stddef.h>

struct mr_buf;

enum mr_escape_style {
	MR_ESCAPE_PROMETHEUS_LABEL, /* between the quotes of a label's value */
	MR_ESCAPE_PROMETHEUS_HELP,
	MR_ESCAPE_CEF_HEADER, /* between bars */
	MR_ESCAPE_CEF_VALUE, /* behind "key=" */
	MR_ESCAPE_COUNT_,
};

/* Append what means text in that place.  The output is UTF-8 on one line, whatever the bytes are: those that are
 * not UTF-8 become '?'; what acts on a terminal and has no escape in the format becomes \xNN or \uNNNN. */
void mr_escape(struct mr_buf *out, enum mr_escape_style style, const char *text, size_t size);
