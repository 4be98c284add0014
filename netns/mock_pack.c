/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mock: as bytes for another process of ours
 *
 * The same program on the same machine reads what it wrote, so numbers are as they lie
 * in memory; still nothing is read beyond the end.
 */
#include <errno.h>
#include <string.h>

#include "netns/mock.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"

#define NO_TEXT UINT64_MAX

static void put(struct mr_buf *buf, uint64_t number)
{
	char bytes[sizeof(number)];

	memcpy(bytes, &number, sizeof(number));
	mr_buf_addn(buf, bytes, sizeof(bytes));
}

static void put_bytes(struct mr_buf *buf, const char *bytes, size_t size)
{
	put(buf, bytes ? size : NO_TEXT);
	if (bytes)
		mr_buf_addn(buf, bytes, size);
}

static void put_text(struct mr_buf *buf, const char *text)
{
	put_bytes(buf, text, text ? strlen(text) : 0);
}

static void pack(const struct mr_mock *mock, struct mr_buf *buf)
{
	put_text(buf, mock->target);
	put(buf, mock->match);
	put(buf, mock->https);
	put_text(buf, mock->host);
	mr_buf_addn(buf, (const char *)&mock->address, sizeof(mock->address));
	put(buf, mock->port);
	put_text(buf, mock->path);
	put(buf, mock->status);
	put(buf, mock->n_headers);
	for (size_t i = 0; i < mock->n_headers; i++)
		put_text(buf, mock->headers[i]);
	put_bytes(buf, mock->body, mock->body_size);
	put(buf, mock->delay_ms);
	put(buf, mock->by_command);
	put(buf, mock->fault);
	put(buf, mock->fault_status);
	put(buf, mock->fail_of);
	put(buf, mock->fail_round);
	for (size_t i = 0; i < MR_MOCK_DRIFTS; i++)
		put_bytes(buf, mock->drifts[i], mock->drift_sizes[i]);
	put(buf, mock->drift_of);
	put(buf, mock->drift_round);
}

void mr_mocks_pack(const struct mr_mocks *mocks, struct mr_buf *buf)
{
	put(buf, mocks->n);
	for (size_t i = 0; i < mocks->n; i++)
		pack(&mocks->v[i], buf);
}

struct reader {
	const char *data;
	size_t size, at;
	bool failed;
};

static uint64_t get(struct reader *in, uint64_t max)
{
	uint64_t number = 0;

	if (in->failed || in->size - in->at < sizeof(number)) {
		in->failed = true;
		return 0;
	}
	memcpy(&number, in->data + in->at, sizeof(number));
	in->at += sizeof(number);
	in->failed = number > max;
	return in->failed ? 0 : number;
}

static void get_address(struct reader *in, struct in6_addr *ret)
{
	in->failed = in->failed || in->size - in->at < sizeof(*ret);
	if (in->failed)
		return;
	memcpy(ret, in->data + in->at, sizeof(*ret));
	in->at += sizeof(*ret);
}

static char *get_bytes(struct reader *in, size_t *ret_size)
{
	const uint64_t size = get(in, NO_TEXT);
	char *bytes;

	if (in->failed || size == NO_TEXT)
		return NULL;
	in->failed = size > in->size - in->at;
	if (in->failed)
		return NULL;
	bytes = mr_str_alloc((size_t)size + 1);
	memcpy(bytes, in->data + in->at, (size_t)size);
	in->at += (size_t)size;
	*ret_size = (size_t)size;
	return bytes;
}

static char *get_text(struct reader *in)
{
	size_t size;

	return get_bytes(in, &size);
}

static void unpack(struct reader *in, struct mr_mock *mock)
{
	uint64_t n;

	mock->target = get_text(in);
	mock->match = (enum mr_mock_match)get(in, MR_MOCK_URL);
	mock->https = get(in, 1) != 0;
	mock->host = get_text(in);
	get_address(in, &mock->address);
	mock->port = (uint16_t)get(in, UINT16_MAX);
	mock->path = get_text(in);
	mock->status = (unsigned int)get(in, 599);
	n = get(in, MR_MOCK_HEADERS_MAX);
	mock->headers = mr_str_alloc((n + 1) * sizeof(char *));
	while (!in->failed && mock->n_headers < n) {
		char *header = get_text(in);

		in->failed = in->failed || !header;
		if (header)
			mock->headers[mock->n_headers++] = header;
	}
	mock->body = get_bytes(in, &mock->body_size);
	mock->delay_ms = get(in, MR_MOCK_NO_DELAY);
	mock->by_command = get(in, 1) != 0;
	mock->fault = (enum mr_mock_fault)get(in, MR_FAULT_FLIP);
	mock->fault_status = (unsigned int)get(in, 599);
	mock->fail_of = (uint32_t)get(in, MR_MOCK_ROUND_MAX);
	mock->fail_round = (uint32_t)get(in, MR_MOCK_ROUND_MAX);
	for (size_t i = 0; i < MR_MOCK_DRIFTS; i++)
		mock->drifts[i] = get_bytes(in, &mock->drift_sizes[i]);
	mock->drift_of = (uint32_t)get(in, MR_MOCK_ROUND_MAX);
	mock->drift_round = (uint32_t)get(in, MR_MOCK_ROUND_MAX);
	in->failed =
		in->failed || !mock->target || !mock->host || mock->drift_of > mock->drift_round ||
		(!mock->path && mock->match != MR_MOCK_HOST) || mock->fail_of > mock->fail_round;
}

int mr_mocks_unpack(const char *data, size_t size, struct mr_mocks *ret, struct mr_error *err)
{
	struct reader in = { .data = data, .size = size };
	struct mr_mocks mocks = { 0 };
	const uint64_t n = get(&in, MR_MOCKS_MAX);

	mocks.v = mr_str_alloc((n + 1) * sizeof(*mocks.v));
	while (!in.failed && mocks.n < n)
		unpack(&in, &mocks.v[mocks.n++]);
	mocks.cap = n + 1;
	if (in.failed || in.at != size) {
		mr_mocks_deinit(&mocks);
		return mr_err(err, MR_E_PROTO, EPROTO, "the mocks were not handed over whole");
	}
	*ret = mocks;
	return 0;
}
