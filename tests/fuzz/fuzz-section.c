/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what the parser of a Python file replied
 *
 * The file, a NUL, the reply.  Holds: a reply that fits its file can be chosen from, asked for and judged,
 * and each of its sections is of a kind and in lines that there are.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/section/choose.h"
#include "runtime/section/judge.h"
#include "runtime/section/reply.h"
#include "runtime/section/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run_one(const json_t *chosen)
{
	const struct mr_input_opts opts = { .seed = 1 };
	mr_auto_json json_t *request = NULL;
	mr_auto_json json_t *inputs = NULL;
	mr_auto_json json_t *row = NULL;
	mr_auto_json json_t *result = json_pack("{s:s}", "reason", "exited");
	struct mr_error err = MR_ERROR_INIT;

	if (mr_section_request(chosen, &opts, &request, &inputs, &err) < 0) {
		mr_assert(err.msg[0] != '\0');
		return;
	}
	row = mr_section_judge(chosen, result, json_incref(inputs));
	mr_assert(mr_json_text_or_empty(row, "state")[0] != '\0');
}

static void run_all(const json_t *scan, const char *const *match, size_t n_match)
{
	char *names[] = { NULL };
	const struct mr_section_choice choice = { .names = names,
						  .match = match,
						  .n_match = n_match };
	mr_auto_json json_t *chosen = NULL;
	mr_auto_json json_t *passed_by = NULL;
	struct mr_error err = MR_ERROR_INIT;

	if (mr_section_choose(scan, &choice, &chosen, &passed_by, &err) < 0) {
		mr_assert(err.msg[0] != '\0');
		return;
	}
	for (size_t i = 0; i < json_array_size(chosen); i++)
		run_one(json_array_get(chosen, i));
}

static void check_lines(const json_t *sections, size_t size)
{
	for (size_t i = 0; i < json_array_size(sections); i++) {
		const json_t *section = json_array_get(sections, i);
		const json_int_t last = json_integer_value(json_object_get(section, "last"));

		mr_assert(last >= 1 && (size_t)last <= size + 1);
		mr_assert(mr_json_text_or_empty(section, "kind")[0] != '\0');
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const every[] = { "*" };
	const uint8_t *end = size > 0 ? memchr(data, '\0', size) : NULL;
	const size_t n = end ? (size_t)(end - data) : 0;
	mr_auto_json json_t *reply = NULL;
	mr_auto_json json_t *scan = NULL;
	mr_auto_free char *file = NULL;

	if (!end || mr_json_parse((const char *)end + 1, size - n - 1, "reply", &reply, NULL) < 0)
		return 0;
	file = mr_str_alloc(n + 1);
	memcpy(file, data, n);
	if (!mr_section_reply_fits(reply, file, n))
		return 0;
	check_lines(json_object_get(reply, "sections"), n);
	json_object_set_new(reply, "path", json_string("a.py"));
	scan = json_pack("{s:s, s:[O]}", "folder", "/r", "files", reply);
	run_all(scan, every, 1);
	run_all(scan, NULL, 0);
	return 0;
}
