/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mock: the list of them
 *
 * Who answers a request, and under which addresses a name is found.  A name's
 * addresses are its place among the names, so that nothing has to be kept for it: the
 * process that answers and the one that makes the routes count the same.
 */
#include "netns/mock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/str.h"

void mr_mock_deinit(struct mr_mock *mock)
{
	free(mock->target);
	free(mock->host);
	free(mock->path);
	for (size_t i = 0; i < mock->n_headers; i++)
		free(mock->headers[i]);
	free(mock->headers);
	free(mock->file);
	free(mock->body);
	for (size_t i = 0; i < mock->n_words; i++)
		free(mock->words[i]);
	free(mock->words);
	for (size_t i = 0; i < MR_MOCK_DRIFTS; i++)
		free(mock->drifts[i]);
	*mock = (struct mr_mock){ 0 };
}

void mr_mocks_deinit(struct mr_mocks *mocks)
{
	for (size_t i = 0; i < mocks->n; i++)
		mr_mock_deinit(&mocks->v[i]);
	free(mocks->v);
	*mocks = (struct mr_mocks){ 0 };
}

static char *copy_text(const char *text)
{
	return text ? mr_str_dup(text) : NULL;
}

/* With a NULL at their end. */
static char **copy_texts(char *const *texts, size_t n)
{
	char **copy = n ? mr_str_alloc((n + 1) * sizeof(*copy)) : NULL;

	for (size_t i = 0; i < n; i++)
		copy[i] = mr_str_dup(texts[i]);
	return copy;
}

static char *copy_bytes(const char *bytes, size_t size)
{
	char *copy = bytes ? mr_str_alloc(size + 1) : NULL;

	if (bytes)
		memcpy(copy, bytes, size);
	return copy;
}

static void copy_mock(struct mr_mock *to, const struct mr_mock *from)
{
	*to = *from;
	to->target = copy_text(from->target);
	to->host = copy_text(from->host);
	to->path = copy_text(from->path);
	to->file = copy_text(from->file);
	to->headers = copy_texts(from->headers, from->n_headers);
	to->words = copy_texts(from->words, from->n_words);
	to->body = copy_bytes(from->body, from->body_size);
	for (size_t i = 0; i < MR_MOCK_DRIFTS; i++)
		to->drifts[i] = copy_bytes(from->drifts[i], from->drift_sizes[i]);
}

void mr_mocks_copy(struct mr_mocks *to, const struct mr_mocks *from)
{
	*to = (struct mr_mocks){ 0 };
	if (from->n == 0)
		return;
	to->v = mr_str_alloc(from->n * sizeof(*to->v));
	to->n = to->cap = from->n;
	for (size_t i = 0; i < from->n; i++)
		copy_mock(&to->v[i], &from->v[i]);
}

int mr_mocks_add(struct mr_mocks *mocks, struct mr_mock *mock, struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];
	int r = 0;

	for (size_t i = 0; r == 0 && i < mocks->n; i++)
		if (strcmp(mocks->v[i].target, mock->target) == 0)
			r = mr_err(err, MR_E_USAGE, EEXIST, "%s has an answer already",
				   mr_str_quote(quoted, sizeof(quoted), mock->target));
	if (r == 0 && mocks->n == MR_MOCKS_MAX)
		r = mr_err(err, MR_E_USAGE, E2BIG, "too many mocks; accepted: at most %d",
			   MR_MOCKS_MAX);
	if (r < 0) {
		mr_mock_deinit(mock);
		return r;
	}
	mocks->v = mr_str_grow(mocks->v, mocks->n, &mocks->cap, sizeof(*mocks->v));
	mocks->v[mocks->n++] = *mock;
	*mock = (struct mr_mock){ 0 };
	return 0;
}

bool mr_mock_has_header(const struct mr_mock *mock, const char *name)
{
	const size_t n = strlen(name);

	for (size_t i = 0; i < mock->n_headers; i++)
		if (strncasecmp(mock->headers[i], name, n) == 0 && mock->headers[i][n] == ':')
			return true;
	return false;
}

bool mr_mock_is_bodiless(unsigned int status)
{
	return status == 204 || status == 205 || status == 304;
}

static int load(struct mr_mock *mock, struct mr_error *err)
{
	int r = mr_read_whole_file(mock->file, MR_MOCK_BODY_MAX, &mock->body, &mock->body_size,
				   err);

	if (r < 0)
		return r;
	if (mock->body_size == 0 &&
	    (mock->fault == MR_FAULT_TRUNCATE || mock->fault == MR_FAULT_FLIP))
		return mr_err(err, MR_E_USAGE, EINVAL, "%s is empty: nothing of it can %s",
			      mock->file,
			      mock->fault == MR_FAULT_FLIP ? "be another bit" : "be cut off");
	return 0;
}

int mr_mocks_load(struct mr_mocks *mocks, struct mr_error *err)
{
	size_t total = 0;

	for (size_t i = 0; i < mocks->n; i++) {
		struct mr_mock *mock = &mocks->v[i];
		int r = mock->file && !mock->body ? load(mock, err) : 0;

		if (r < 0)
			return mr_err_wrap(err, r, "mock %s", mock->target);
		total += mock->body_size;
		if (total > MR_MOCKS_BODIES_MAX)
			return mr_err(err, MR_E_USAGE, EFBIG,
				      "the bodies of all mocks have more than %u MiB together",
				      MR_MOCKS_BODIES_MAX >> 20);
	}
	return 0;
}

static bool path_matches(const struct mr_mock *mock, const char *path)
{
	if (mock->match == MR_MOCK_URL)
		return strcmp(mock->path, path) == 0;
	return mr_str_starts_with(path, mock->path);
}

static bool matches(const struct mr_mock *mock, bool https, const char *host, uint16_t port,
		    const char *path)
{
	if (strcmp(mock->host, host) != 0 || (mock->port && mock->port != port))
		return false;
	return mock->match == MR_MOCK_HOST || (mock->https == https && path_matches(mock, path));
}

static bool is_more_special(const struct mr_mock *a, const struct mr_mock *b)
{
	if (a->match != b->match)
		return a->match > b->match;
	if (a->match == MR_MOCK_PREFIX)
		return strlen(a->path) > strlen(b->path);
	return a->port && !b->port;
}

const struct mr_mock *mr_mocks_match(const struct mr_mocks *mocks, bool https, const char *host,
				     uint16_t port, const char *path)
{
	const struct mr_mock *best = NULL;

	for (size_t i = 0; i < mocks->n; i++) {
		const struct mr_mock *mock = &mocks->v[i];

		if (matches(mock, https, host, port, path) &&
		    (!best || is_more_special(mock, best)))
			best = mock;
	}
	return best;
}

bool mr_mocks_has_host(const struct mr_mocks *mocks, const char *host, uint16_t port)
{
	for (size_t i = 0; i < mocks->n; i++)
		if (strcmp(mocks->v[i].host, host) == 0 &&
		    (!port || !mocks->v[i].port || mocks->v[i].port == port))
			return true;
	return false;
}

static bool is_address(const struct mr_mock *mock)
{
	return !IN6_IS_ADDR_UNSPECIFIED(&mock->address);
}

/* Is it the first mock of its name? */
static bool introduces_name(const struct mr_mocks *mocks, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (strcmp(mocks->v[j].host, mocks->v[i].host) == 0)
			return false;
	return !is_address(&mocks->v[i]);
}

/* Of the name at this place, which counts from 1. */
static struct in6_addr address_at(uint32_t place, int family)
{
	struct in6_addr address = { .s6_addr = { [10] = 0xff, [11] = 0xff } };
	const uint32_t low = htonl(family == AF_INET ? MR_MOCK_NET + place : place);

	if (family == AF_INET6)
		mr_assert(inet_pton(AF_INET6, MR_MOCK_NET6, &address) == 1);
	memcpy(&address.s6_addr[12], &low, sizeof(low));
	return address;
}

bool mr_mocks_address(const struct mr_mocks *mocks, const char *host, int family,
		      struct in6_addr *ret)
{
	uint32_t place = 0;

	for (size_t i = 0; i < mocks->n; i++) {
		const struct mr_mock *mock = &mocks->v[i];

		place += introduces_name(mocks, i);
		if (strcmp(mock->host, host) != 0)
			continue;
		if (is_address(mock) &&
		    !IN6_IS_ADDR_V4MAPPED(&mock->address) == (family == AF_INET))
			return false;
		*ret = is_address(mock) ? mock->address : address_at(place, family);
		return true;
	}
	return false;
}

/* Which place has this address?  0: none. */
static uint32_t place_of(const struct in6_addr *address)
{
	const int family = IN6_IS_ADDR_V4MAPPED(address) ? AF_INET : AF_INET6;
	struct in6_addr there;
	uint32_t low;

	memcpy(&low, &address->s6_addr[12], sizeof(low));
	low = ntohl(low) - (family == AF_INET ? MR_MOCK_NET : 0);
	if (low == 0 || low > MR_MOCKS_MAX)
		return 0;
	there = address_at(low, family);
	return IN6_ARE_ADDR_EQUAL(&there, address) ? low : 0;
}

const char *mr_mocks_name(const struct mr_mocks *mocks, const struct in6_addr *address)
{
	const uint32_t wanted = place_of(address);
	uint32_t place = 0;

	for (size_t i = 0; i < mocks->n; i++) {
		const struct mr_mock *mock = &mocks->v[i];

		if (is_address(mock) && IN6_ARE_ADDR_EQUAL(&mock->address, address))
			return mock->host;
		if (introduces_name(mocks, i) && ++place == wanted)
			return mock->host;
	}
	return NULL;
}
