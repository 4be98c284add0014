/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what a command printed as the answer of a mock
 *
 * Holds: a refusal is a printable usage error, and of an answer the body is a part of what was printed,
 * the status one that an answer can have, and every header one printable line that the responder does not
 * make itself.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "netns/mock.h"
#include "netns/stub_cgi.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(const char *line)
{
	static const char *const ours[] = { "content-length:", "transfer-encoding:",
					    "connection:" };

	mr_assert(strstr(line, ": ") != NULL);
	for (const char *p = line; *p; p++)
		mr_assert(*p >= 0x20 && *p < 0x7f);
	for (size_t i = 0; i < N_ELEMENTS(ours); i++)
		mr_assert(strncasecmp(line, ours[i], strlen(ours[i])) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mr_mock given = { 0 }, answer = { 0 };
	struct mr_error err = MR_ERROR_INIT;
	size_t body = 0;

	mr_assert(mr_mock_parse("a=type:text/x,header:X-A:b,exec:x", &given, &err) == 0);
	if (mr_cgi_parse((const char *)data, size, &given, &answer, &body, &err) < 0) {
		mr_assert(err.code == MR_E_USAGE && err.msg[0]);
		for (const char *p = err.msg; *p; p++)
			mr_assert(*p >= 0x20 && *p < 0x7f);
	} else {
		mr_assert(body <= size);
		mr_assert(answer.status == 0 || (answer.status >= 200 && answer.status <= 599));
		mr_assert(body == size || !mr_mock_is_bodiless(answer.status));
		mr_assert(answer.n_headers <= MR_MOCK_HEADERS_MAX);
		for (size_t i = 0; i < answer.n_headers; i++)
			check_line(answer.headers[i]);
		mr_assert(mr_mock_has_header(&answer, "X-A"));
	}
	mr_mock_deinit(&answer);
	mr_mock_deinit(&given);
	return 0;
}
