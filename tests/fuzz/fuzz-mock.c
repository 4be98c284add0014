/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the text of a mock
 *
 * Holds: a refusal is a printable usage error, a target that was accepted is read again as
 * itself, and what is packed is unpacked as the same bytes.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "netns/mock.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const struct mr_error *err)
{
	mr_assert(err->code == MR_E_USAGE && err->msg[0]);
	for (const char *p = err->msg; *p; p++)
		mr_assert(*p >= 0x20 && *p < 0x7f);
}

static void check_target(const struct mr_mock *mock)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_mock again = { 0 };

	mr_assert(mr_mock_parse_target(&again, mock->target, &err) == 0);
	mr_assert(strcmp(again.target, mock->target) == 0 && again.match == mock->match);
	mr_mock_deinit(&again);
}

static void check_packing(const struct mr_mocks *mocks)
{
	mr_auto_buf struct mr_buf buf = { 0 }, second = { 0 };
	struct mr_mocks again = { 0 };
	struct mr_error err = MR_ERROR_INIT;

	mr_mocks_pack(mocks, &buf);
	mr_assert(mr_mocks_unpack(buf.text, buf.len, &again, &err) == 0);
	mr_mocks_pack(&again, &second);
	mr_assert(buf.len == second.len && memcmp(buf.text, second.text, buf.len) == 0);
	mr_mocks_deinit(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	mr_auto_free char *text = mr_str_ndup((const char *)data, size);
	struct mr_error err = MR_ERROR_INIT;
	struct mr_mocks mocks = { 0 }, unpacked = { 0 };
	struct mr_mock mock;

	if (mr_mocks_unpack((const char *)data, size, &unpacked, &err) == 0)
		mr_mocks_deinit(&unpacked);
	err = (struct mr_error)MR_ERROR_INIT;
	if (mr_mock_parse(text, &mock, &err) < 0) {
		check_refusal(&err);
		return 0;
	}
	check_target(&mock);
	mr_assert(mr_mocks_add(&mocks, &mock, &err) == 0);
	check_packing(&mocks);
	mr_mocks_deinit(&mocks);
	return 0;
}
