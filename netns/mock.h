/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mock: a canned answer of the network, as data
 *
 *   TARGET=ACTION
 *
 *   TARGET   http://HOST[:PORT]/PATH     this URL and no other, its query too
 *            http://HOST[:PORT]/PATH*    all URLs that begin so (https likewise)
 *            HOST[:PORT]                 whatever is asked of this host
 *   HOST     a name, an IPv4 address, an IPv6 address in brackets
 *   ACTION   items with commas between:
 *            @FILE  status:N  header:NAME:VALUE  type:MIME  delay:TIME
 *            fail:KIND[:F/R]  timeout  reset  truncate  flip  auth  body:TEXT
 *            within:TIME  exec:COMMAND
 *   COMMAND  words with spaces or tabs between: 'as it is', "with \" and \\ in it", \c
 *
 * The most special target wins: a URL, the longest prefix, a host with port, a host.
 * Knows nothing of sockets.  All complaints are MR_E_USAGE.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mr_buf;
struct mr_error;

#define MR_MOCKS_MAX 256
#define MR_MOCK_TARGET_MAX 2048 /* bytes of a target */
#define MR_MOCK_HOST_MAX 253
#define MR_MOCK_HEADERS_MAX 32
#define MR_MOCK_HEADER_MAX 1024 /* bytes of a name and its value */
#define MR_MOCK_BODY_MAX (16u << 20) /* of one answer */
#define MR_MOCKS_BODIES_MAX (64u << 20) /* of all together */
#define MR_MOCK_DELAY_MAX_MS 600000
#define MR_MOCK_ROUND_MAX 10000 /* R of F/R */
#define MR_MOCK_DRIFTS 4 /* other bodies of a mock */
#define MR_MOCK_NO_DELAY UINT64_MAX /* the delay of all mocks counts */
#define MR_MOCK_COMMAND_MAX 4096 /* bytes of a command */
#define MR_MOCK_WORDS_MAX 64 /* of a command */
#define MR_MOCK_WITHIN_MAX_MS 300000

enum mr_mock_match { MR_MOCK_HOST, MR_MOCK_PREFIX, MR_MOCK_URL };

/* What a failing answer is. */
enum mr_mock_fault {
	MR_FAULT_NONE,
	MR_FAULT_STATUS, /* fault_status, no body */
	MR_FAULT_AUTH, /* 401 */
	MR_FAULT_RESET, /* the connection is reset */
	MR_FAULT_TIMEOUT, /* nothing is answered */
	MR_FAULT_TRUNCATE, /* half of the announced body, then the end */
	MR_FAULT_FLIP, /* one bit of the body is another one */
};

struct mr_mock {
	char *target; /* normalised text: what mr_mock_parse_target() makes of itself */
	enum mr_mock_match match;
	bool https; /* of a URL or prefix */
	char *host; /* lower case, no dot at its end; or an address, IPv6 as "[2001:db8::1]" */
	struct in6_addr address; /* of a host that is one, IPv4 as ::ffff:a.b.c.d; ::: a name */
	uint16_t port; /* 0: any */
	char *path; /* beginning with '/', query included; NULL for a host */

	unsigned int status; /* 0: not said, 200 */
	char **headers; /* "Name: value" */
	size_t n_headers;
	char *file; /* host file of the body, or NULL */
	char *body; /* body, or NULL; of a file once it was loaded */
	size_t body_size;
	uint64_t delay_ms; /* before the first byte, or MR_MOCK_NO_DELAY */
	bool by_command; /* what the words below print is the answer */
	char **words; /* NULL ends them; not handed over, for who plays mocks runs nothing */
	size_t n_words;
	uint64_t within_ms; /* that the command has; 0: not said, MOCK_COMMAND of patience.def */
	enum mr_mock_fault fault;
	unsigned int fault_status; /* with MR_FAULT_STATUS */
	uint32_t fail_of,
		fail_round; /* fail_of failures of every fail_round requests; 0, 0: none */
	/* Another body for drift_of of every drift_round answers; not a part of the text or of the
	 * spec.  NULL ends them. */
	char *drifts[MR_MOCK_DRIFTS];
	size_t drift_sizes[MR_MOCK_DRIFTS];
	uint32_t drift_of, drift_round;
};

/* Zeroed is empty; owns all. */
struct mr_mocks {
	struct mr_mock *v;
	size_t n, cap;
};

void mr_mock_deinit(struct mr_mock *mock);
void mr_mocks_deinit(struct mr_mocks *mocks);
/* `to` is initialised. */
void mr_mocks_copy(struct mr_mocks *to, const struct mr_mocks *from);
/* Takes what mock owns, in any case.  Refuses a target that is there already, and one too many. */
int mr_mocks_add(struct mr_mocks *mocks, struct mr_mock *mock, struct mr_error *err);

/* TARGET=ACTION; *ret is to be deinitialised after success only. */
int mr_mock_parse(const char *text, struct mr_mock *ret, struct mr_error *err);
/* Fills the members up to path of a zeroed mock; to be deinitialised in any case. */
int mr_mock_parse_target(struct mr_mock *mock, const char *target, struct mr_error *err);
/* The ACTION of such a mock; mr_mock_check() is left to be done. */
int mr_mock_parse_action(struct mr_mock *mock, const char *action, struct mr_error *err);
/* One item of an action by its name: status, header ("NAME:VALUE"), type, delay, fail, file, exec,
 * within.  Each once but header. */
int mr_mock_set(struct mr_mock *mock, const char *item, const char *value, struct mr_error *err);
int mr_mock_set_body(struct mr_mock *mock, const void *body, size_t size, struct mr_error *err);
/* The command as it is: no word is split. */
int mr_mock_set_words(struct mr_mock *mock, const char *const *words, size_t n,
		      struct mr_error *err);
/* Does what was set go together? */
int mr_mock_check(const struct mr_mock *mock, struct mr_error *err);
/* The value of "fail": "503:1/3", "reset"; "" without one.  Returns buf. */
#define MR_MOCK_FAIL_SIZE 48
const char *mr_mock_fail_text(const struct mr_mock *mock, char buf[MR_MOCK_FAIL_SIZE]);
const char *mr_mock_fault_name(enum mr_mock_fault fault);
bool mr_mock_has_header(const struct mr_mock *mock, const char *name);
/* An answer of this status is one without a body. */
bool mr_mock_is_bodiless(unsigned int status);

/* Read the files of the bodies. */
int mr_mocks_load(struct mr_mocks *mocks, struct mr_error *err);

/* The mock that answers, or NULL.  host in lower case. */
const struct mr_mock *mr_mocks_match(const struct mr_mocks *mocks, bool https, const char *host,
				     uint16_t port, const char *path);
/* Is any mock of this host, and of this port if it is not 0? */
bool mr_mocks_has_host(const struct mr_mocks *mocks, const char *host, uint16_t port);

/* What a name is given as its addresses, one of each family (AF_INET, AF_INET6): each its own, from
 * 198.18.0.1 and 2001:2::1 on; a host that is an address has itself.  IPv4 is ::ffff:a.b.c.d.
 * False: no mock has this name, or it has no address of this family. */
#define MR_MOCK_NET 0xc6120000u /* 198.18.0.0, which RFC 2544 keeps for tests */
#define MR_MOCK_NET_BITS 16
#define MR_MOCK_NET6 "2001:2::" /* likewise, RFC 5180 */
#define MR_MOCK_NET6_BITS 48
bool mr_mocks_address(const struct mr_mocks *mocks, const char *host, int family,
		      struct in6_addr *ret);
/* The other way round: NULL if nothing has this address.  Borrowed. */
const char *mr_mocks_name(const struct mr_mocks *mocks, const struct in6_addr *address);

/* For another process of ours: bytes, and back. The files must have been loaded. */
void mr_mocks_pack(const struct mr_mocks *mocks, struct mr_buf *buf);
int mr_mocks_unpack(const char *data, size_t size, struct mr_mocks *ret, struct mr_error *err);
