/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stub: what a command printed, as an answer
 *
 *   Status: 404 Not Found        optional header lines, of which the first is Status or
 *   Content-Type: text/plain     Content-Type, and an empty line; LF or CRLF ends each
 *
 *   BODY                         the rest, or all of it when it does not begin so
 *
 * What is said there takes the place of what the mock says.  A command may repeat hostile bytes of
 * its request: what would be another answer than that of one status, its headers and its body is
 * refused.
 */
#pragma once

#include <stddef.h>

struct mr_error;
struct mr_mock;

#define MR_CGI_HEAD_MAX 8192 /* bytes of the header lines */

/* *ret is zeroed and gets status and headers, those of the mock `given` among them; to be
 * deinitialised in any case.  The body begins at *ret_body.  MR_E_USAGE: it is no answer. */
int mr_cgi_parse(const char *text, size_t size, const struct mr_mock *given, struct mr_mock *ret,
		 size_t *ret_body, struct mr_error *err);
