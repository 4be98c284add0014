/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate of --net allowlist: its judgement, and its readers of DNS, TLS and HTTP
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "netns/dnswire.h"
#include "netns/gate_http.h"
#include "netns/gate_policy.h"
#include "netns/sniff.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

#define S 1000000000ULL

static struct in6_addr address(const char *text)
{
	struct in6_addr ret;
	uint16_t port;
	char bracketed[80];

	snprintf(bracketed, sizeof(bracketed), strchr(text, ':') ? "[%s]" : "%s", text);
	assert_int_equal(mr_rule_parse_endpoint(bracketed, 1, &ret, &port, NULL), 0);
	return ret;
}

/* --- judgement ------------------------------------------------------------------------- */

static void make_policy(struct mr_gate_policy *policy, const char *config)
{
	struct mr_error err = MR_ERROR_INIT;

	*policy = (struct mr_gate_policy){ 0 };
	if (mr_gate_policy_parse(policy, config, strlen(config), &err) < 0)
		fail_msg("%s", err.msg);
}

static void assert_judged(const struct mr_gate_policy *policy, const char *to, uint16_t port,
			  uint64_t now, enum mr_gate_verdict verdict, enum mr_gate_reason reason)
{
	const struct in6_addr a = address(to);
	enum mr_gate_reason got = MR_GATE_REASONS_;
	enum mr_gate_verdict v = mr_gate_policy_judge(policy, &a, port, now, &got);

	if (v != verdict || (v == MR_GATE_REFUSED && got != reason))
		fail_msg("%s:%u at %ju: verdict %d reason %d", to, port, (uintmax_t)now, v, got);
}

static void test_addresses_are_judged(void **state)
{
	struct mr_gate_policy p;
	struct in6_addr a = address("5.5.5.5");
	uint16_t ports[MR_GATE_PORTS_MAX];

	(void)state;
	make_policy(&p, "{\"rules\": [\"1.2.3.0/24:80\", \"10.0.0.0/8:22\", \"0.0.0.0/0:9\", "
			"\"a.example:443\", \"*.b.example\"], \"servers\": [\"9.9.9.9\", "
			"\"[::1]:5\"]}");
	assert_int_equal(p.n_servers, 2);
	assert_int_equal(p.servers[0].port, 53);
	assert_int_equal(p.servers[1].port, 5);
	assert_judged(&p, "1.2.3.4", 80, 0, MR_GATE_DIRECT, 0);
	assert_judged(&p, "1.2.3.4", 81, 0, MR_GATE_REFUSED, MR_GATE_PORT);
	assert_judged(&p, "10.1.1.1", 22, 0, MR_GATE_DIRECT, 0);
	assert_judged(&p, "10.1.1.1", 23, 0, MR_GATE_REFUSED, MR_GATE_PORT);
	assert_judged(&p, "192.168.1.1", 9, 0, MR_GATE_REFUSED, MR_GATE_SPECIAL);
	assert_judged(&p, "2001:db8::1", 9, 0, MR_GATE_REFUSED, MR_GATE_ADDRESS);
	/* Given for a name: with its port, and until its time is over. */
	assert_true(mr_gate_policy_pin(&p, "a.example", &a, 0, 60 * S));
	assert_judged(&p, "5.5.5.5", 443, 60 * S - 1, MR_GATE_NAMED, 0);
	assert_judged(&p, "5.5.5.5", 80, 1, MR_GATE_REFUSED, MR_GATE_PORT);
	assert_true(mr_gate_policy_shows(&p, &a, 443, "a.example", 1));
	assert_false(mr_gate_policy_shows(&p, &a, 443, "x.b.example", 1));
	assert_false(mr_gate_policy_shows(&p, &a, 80, "a.example", 1));
	assert_false(mr_gate_policy_shows(&p, &a, 443, "a.example", 60 * S));
	assert_int_equal(mr_gate_policy_ports(&p, &a, 1, ports), 2);
	assert_int_equal(ports[0] + ports[1], 9 + 443);
	/* Renewed, not doubled. */
	assert_true(mr_gate_policy_pin(&p, "a.example", &a, 0, 90 * S));
	assert_int_equal(p.n_pins, 1);
	assert_judged(&p, "5.5.5.5", 443, 61 * S, MR_GATE_NAMED, 0);
	assert_true(mr_gate_policy_pin(&p, "x.b.example", &a, 0, 90 * S));
	assert_int_equal(mr_gate_policy_ports(&p, &a, 1, ports), 0);
	mr_gate_policy_deinit(&p);
}

static void test_a_pin_that_is_over_is_told(void **state)
{
	struct mr_gate_policy p;
	struct in6_addr a = address("5.5.5.5");

	(void)state;
	make_policy(&p, "{\"rules\": [\"a.example\"]}");
	assert_judged(&p, "5.5.5.5", 443, 0, MR_GATE_REFUSED, MR_GATE_ADDRESS);
	mr_gate_policy_pin(&p, "a.example", &a, 0, 60 * S);
	assert_judged(&p, "5.5.5.5", 443, 60 * S, MR_GATE_REFUSED, MR_GATE_EXPIRED);
	mr_gate_policy_deinit(&p);
}

/* A name leads to a private address that a rule allows one port of: not to its other ports. */
static void test_a_pin_opens_no_special_address(void **state)
{
	struct mr_gate_policy p;
	const struct in6_addr a = address("10.0.0.5"), v6 = address("fd00::5");
	uint16_t ports[MR_GATE_PORTS_MAX];

	(void)state;
	make_policy(&p, "{\"rules\": [\"10.0.0.5:80\", \"[fd00::5]:80\", \"e.example\"]}");
	assert_true(mr_gate_policy_target(&p, &a));
	assert_true(mr_gate_policy_pin(&p, "e.example", &a, 0, 60 * S));
	assert_true(mr_gate_policy_pin(&p, "e.example", &v6, 0, 60 * S));
	assert_judged(&p, "10.0.0.5", 80, 1, MR_GATE_DIRECT, 0);
	assert_judged(&p, "10.0.0.5", 22, 1, MR_GATE_REFUSED, MR_GATE_PORT);
	assert_judged(&p, "fd00::5", 22, 1, MR_GATE_REFUSED, MR_GATE_PORT);
	assert_false(mr_gate_policy_shows(&p, &a, 22, "e.example", 1));
	assert_int_equal(mr_gate_policy_ports(&p, &a, 1, ports), 1);
	assert_int_equal(ports[0], 80);
	mr_gate_policy_deinit(&p);
}

static void test_pins_are_bounded(void **state)
{
	struct mr_gate_policy p;

	(void)state;
	make_policy(&p, "{\"rules\": [\"a.example\"]}");
	for (uint32_t i = 0; i < MR_GATE_PINS_MAX; i++) {
		struct in6_addr a = { .s6_addr = { 0x20, 1, [14] = (uint8_t)(i >> 8),
						   (uint8_t)i } };

		assert_true(mr_gate_policy_pin(&p, "a.example", &a, 0, 60 * S));
	}
	struct in6_addr more = address("5.5.5.5");

	assert_false(mr_gate_policy_pin(&p, "a.example", &more, 0, 60 * S));
	assert_true(mr_gate_policy_pin(&p, "a.example", &more, 61 * S, 120 * S));
	assert_int_equal(p.n_pins, MR_GATE_PINS_MAX);
	mr_gate_policy_deinit(&p);
}

static void test_names_are_judged(void **state)
{
	struct mr_gate_policy p;
	enum mr_gate_reason reason;
	char name[300];

	(void)state;
	make_policy(&p, "{\"rules\": [\"a.example\", \"*.b.example\"]}");
	assert_true(mr_gate_policy_name(&p, "a.example", &reason));
	assert_false(mr_gate_policy_name(&p, "b.example", &reason));
	assert_int_equal(reason, MR_GATE_NAME);
	/* A label of 40 bytes, of 41; 63 in all, 64. */
	snprintf(name, sizeof(name), "%040d.b.example", 0);
	assert_true(mr_gate_policy_name(&p, name, &reason));
	snprintf(name, sizeof(name), "%041d.b.example", 0);
	assert_false(mr_gate_policy_name(&p, name, &reason));
	assert_int_equal(reason, MR_GATE_LONG_LABEL);
	snprintf(name, sizeof(name), "%031d.%031d.b.example", 0, 0);
	assert_true(mr_gate_policy_name(&p, name, &reason));
	snprintf(name, sizeof(name), "%032d.%031d.b.example", 0, 0);
	assert_false(mr_gate_policy_name(&p, name, &reason));
	assert_int_equal(reason, MR_GATE_LONG_LABEL);
	/* Two are counted; 126 more, and no other. */
	for (int i = 0; i < MR_GATE_NAMES_MAX - 2; i++) {
		snprintf(name, sizeof(name), "n%d.b.example", i);
		assert_true(mr_gate_policy_name(&p, name, &reason));
	}
	assert_false(mr_gate_policy_name(&p, "more.b.example", &reason));
	assert_int_equal(reason, MR_GATE_MANY_NAMES);
	assert_true(mr_gate_policy_name(&p, "n7.b.example", &reason));
	mr_gate_policy_deinit(&p);
}

static void test_targets_of_names(void **state)
{
	struct mr_gate_policy p;
	const struct in6_addr loop = address("127.0.0.1"), ten = address("10.1.1.1"),
			      meta = address("169.254.169.254"), plain = address("5.5.5.5");

	(void)state;
	make_policy(&p, "{\"rules\": [\"a.example\", \"10.0.0.0/8:22\", \"6.6.6.6:80\"]}");
	assert_false(mr_gate_policy_target(&p, &loop));
	assert_false(mr_gate_policy_target(&p, &meta));
	assert_true(mr_gate_policy_target(&p, &ten));
	assert_true(mr_gate_policy_target(&p, &plain));
	const struct in6_addr own = address("6.6.6.6");

	assert_true(mr_gate_policy_names_host(&p, &own, 80));
	assert_false(mr_gate_policy_names_host(&p, &own, 81));
	assert_false(mr_gate_policy_names_host(&p, &ten, 22));
	mr_gate_policy_deinit(&p);
}

/* --- DNS ------------------------------------------------------------------------------- */

static void test_queries_are_read(void **state)
{
	static const uint8_t query[] = "\x12\x34\x01\x00\0\1\0\0\0\0\0\1\4GooD\7Example\0\0\x1c\0\1"
				       "\0\0\x29\x10\0\0\0\0\0\0\0";
	struct mr_dnswire_query q;
	struct mr_dnswire_answer a = { .ttl_s = 7, .n = 2 };
	uint8_t buf[512];

	(void)state;
	assert_int_equal(mr_dnswire_read_query(query, sizeof(query) - 1, &q), 0);
	assert_int_equal(q.id, 0x1234);
	assert_int_equal(q.type, MR_DNS_TYPE_AAAA);
	assert_int_equal(q.size_max, MR_DNSWIRE_UDP_MAX);
	assert_string_equal(q.name, "good.example");
	assert_int_equal(q.longest_label, 7);
	/* Answered in the case it was asked in; only what is of the type. */
	a.addresses[0] = address("1.2.3.4");
	a.addresses[1] = address("2001:db8::1");
	assert_int_equal(mr_dnswire_write_answer(&q, &a, buf, sizeof(buf)), 12 + 18 + 28);
	assert_memory_equal(buf, "\x12\x34\x81\x80\0\1\0\1\0\0\0\0\4GooD\7Example\0\0\x1c\0\1", 30);
	assert_memory_equal(buf + 30, "\xc0\x0c\0\x1c\0\1\0\0\0\7\0\x10\x20\1\xd\xb8", 16);
	/* Every beginning of it is refused. */
	for (size_t n = 0; n < 30; n++)
		assert_true(mr_dnswire_read_query(query, n, &q) < 0);
}

static void test_what_is_no_query(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		int r;
	} rows[] = {
#define ROW(text, r) { text, sizeof(text) - 1, r }
		ROW("\0\1\x81\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\1", -EBADMSG), /* an answer */
		ROW("\0\1\x08\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\1", -EPROTO), /* another operation */
		ROW("\0\1\1\0\0\0\0\0\0\0\0\0\1a\0\0\1\0\1", -EPROTO), /* no question */
		ROW("\0\1\1\0\0\2\0\0\0\0\0\0\1a\0\0\1\0\1", -EPROTO), /* two */
		ROW("\0\1\1\0\0\1\0\1\0\0\0\0\1a\0\0\1\0\1", -EPROTO), /* with an answer */
		ROW("\0\1\1\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\3", -EPROTO), /* another class */
		ROW("\0\1\1\0\0\1\0\0\0\0\0\0\xc0\xc\0\1\0\1", -EPROTO), /* points to itself */
		ROW("\0\1\1\0\0\1\0\0\0\0\0\0\x40\x61\0\0\1\0\1", -EPROTO), /* reserved */
		ROW("\0\1\1\0\0\1\0\0\0\0\0\0\77a\0\0\1\0\1", -EPROTO), /* beyond the end */
#undef ROW
	};
	static const uint8_t dotted[] = "\0\1\1\0\0\1\0\0\0\0\0\0\3a.b\7example\0\0\1\0\1";
	static const uint8_t root[] = "\0\1\1\0\0\1\0\0\0\0\0\0\0\0\2\0\1";
	struct mr_dnswire_query q;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		int r = mr_dnswire_read_query((const uint8_t *)rows[i].bytes, rows[i].size, &q);

		if (r != rows[i].r)
			fail_msg("row %zu: %d", i, r);
	}
	assert_int_equal(mr_dnswire_read_query(dotted, sizeof(dotted) - 1, &q), 0);
	assert_string_equal(q.name, ""); /* no name of a host */
	assert_int_equal(mr_dnswire_read_query(root, sizeof(root) - 1, &q), 0);
	assert_string_equal(q.name, "");
}

static void test_answers_are_read(void **state)
{
	/* a.example is an alias of b.example, which is 1.2.3.4; c.example is another's. */
	static const uint8_t answer[] = "\0\7\x81\x80\0\1\0\3\0\0\0\0\1a\7example\0\0\1\0\1"
					"\1c\xc0\x0e\0\1\0\1\0\0\0\1\0\4\6\6\6\6"
					"\1b\xc0\x0e\0\1\0\1\0\0\0\x50\0\4\1\2\3\4"
					"\xc0\x0c\0\5\0\1\0\0\0\x40\0\4\1B\xc0\x0e";
	struct mr_dnswire_answer a;
	char text[INET6_ADDRSTRLEN];

	(void)state;
	assert_int_equal(mr_dnswire_read_answer(answer, sizeof(answer) - 1, 7, "a.example", 1, &a),
			 0);
	assert_int_equal(a.rcode, MR_DNS_NOERROR);
	assert_int_equal(a.n, 1);
	assert_int_equal(a.ttl_s, 0x40); /* the least of what was used */
	assert_string_equal(mr_rule_print_address(&a.addresses[0], text), "1.2.3.4");
	/* Another id, name or type: somebody else's. */
	assert_int_equal(mr_dnswire_read_answer(answer, sizeof(answer) - 1, 8, "a.example", 1, &a),
			 -EPROTO);
	assert_int_equal(mr_dnswire_read_answer(answer, sizeof(answer) - 1, 7, "b.example", 1, &a),
			 -EPROTO);
	assert_int_equal(mr_dnswire_read_answer(answer, sizeof(answer) - 1, 7, "a.example", 28, &a),
			 -EPROTO);
	/* Cut anywhere: no more than what is whole, and no harm. */
	for (size_t n = 0; n < sizeof(answer) - 1; n++) {
		if (mr_dnswire_read_answer(answer, n, 7, "a.example", 1, &a) == 0)
			assert_int_equal(a.n, 0);
	}
}

static void test_our_query_is_read_back(void **state)
{
	uint8_t buf[MR_DNSWIRE_QUESTION_MAX + 12];
	char name[254];
	struct mr_dnswire_query q;
	size_t n = mr_dnswire_write_query(0xabcd, "a.example", 28, buf);

	(void)state;
	assert_int_equal(mr_dnswire_read_query(buf, n, &q), 0);
	assert_string_equal(q.name, "a.example");
	assert_int_equal(q.type, 28);
	memset(name, 'a', 253);
	name[63] = name[127] = name[191] = '.';
	name[253] = '\0';
	n = mr_dnswire_write_query(1, name, 1, buf);
	assert_int_equal(mr_dnswire_read_query(buf, n, &q), 0);
	assert_string_equal(q.name, name);
}

/* --- TLS and HTTP ----------------------------------------------------------------------- */

static enum mr_sniff sniff(const char *bytes, size_t size, char name[MR_RULE_NAME_MAX + 1])
{
	return mr_sniff((const uint8_t *)bytes, size, name);
}

/* A ClientHello in one record with these extensions. */
static size_t make_hello(const char *extensions, size_t size, uint8_t *buf)
{
	const size_t body = 2 + 32 + 1 + 2 + 2 + 1 + 1 + 2 + size;
	uint8_t *at = buf;
	const uint8_t head[] = { 22,
				 3,
				 1,
				 (uint8_t)((body + 4) >> 8),
				 (uint8_t)(body + 4),
				 1,
				 0,
				 (uint8_t)(body >> 8),
				 (uint8_t)body,
				 3,
				 3 };

	memcpy(at, head, sizeof(head));
	memset(at + sizeof(head), 7, 32);
	at += sizeof(head) + 32;
	memcpy(at, "\0\0\2\x13\1\1\0", 7); /* no session, one cipher, no compression */
	at += 7;
	*at++ = (uint8_t)(size >> 8);
	*at++ = (uint8_t)size;
	memcpy(at, extensions, size);
	return (size_t)(at - buf) + size;
}

#define SNI                        \
	"\0\0\0\x0e\0\x0c\0\0\x09" \
	"A.example"
#define SNI_DOT                    \
	"\0\0\0\x0f\0\x0d\0\0\x0a" \
	"a.example."
#define ECH "\xfe\x0d\0\2\0\0"
#define OTHER "\0\x2b\0\3\2\3\4"

static void test_server_names(void **state)
{
	static const struct {
		const char *extensions;
		size_t size;
		enum mr_sniff kind;
		const char *name;
	} rows[] = {
#define ROW(text, kind, name) { text, sizeof(text) - 1, kind, name }
		ROW(SNI, MR_SNIFF_TLS, "a.example"),
		ROW(SNI_DOT, MR_SNIFF_TLS, "a.example"),
		ROW(OTHER SNI, MR_SNIFF_TLS, "a.example"),
		ROW(OTHER, MR_SNIFF_TLS_NO_NAME, ""),
		ROW(SNI ECH, MR_SNIFF_TLS_ECH, "a.example"),
		ROW(ECH, MR_SNIFF_TLS_ECH, ""),
		ROW(SNI SNI, MR_SNIFF_TLS_MALFORMED, ""), /* which one counts? */
		ROW("\0\0\0\0", MR_SNIFF_TLS_MALFORMED, ""),
		ROW("\0\0\0\5\0\3\0\0\0", MR_SNIFF_TLS_MALFORMED, ""), /* an empty name */
		ROW("\0\0\0\6\0\4\1\0\1a", MR_SNIFF_TLS_MALFORMED, ""), /* another kind of name */
		ROW("\0\0\0\6\0\4\0\0\1\0", MR_SNIFF_TLS_MALFORMED, ""), /* a NUL */
		ROW("\0\0\0\x0a\0\x08\0\0\1a\0\0\1b", MR_SNIFF_TLS_MALFORMED, ""), /* two names */
		ROW("\0\0\0\6\0\5\0\0\1a", MR_SNIFF_TLS_MALFORMED, ""), /* longer than it is */
		ROW(SNI "\0\x2b\0\x7f", MR_SNIFF_TLS_MALFORMED, ""),
#undef ROW
	};
	char name[MR_RULE_NAME_MAX + 1];
	uint8_t buf[1024];

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		size_t n = make_hello(rows[i].extensions, rows[i].size, buf);
		enum mr_sniff kind = mr_sniff(buf, n, name);

		if (kind != rows[i].kind ||
		    (kind != MR_SNIFF_TLS_MALFORMED && strcmp(name, rows[i].name) != 0))
			fail_msg("row %zu: kind %d name \"%s\"", i, kind, name);
		/* Until the last byte is there nothing is said. */
		for (size_t cut = 1; cut < n; cut++)
			assert_int_equal(mr_sniff(buf, cut, name), MR_SNIFF_MORE);
	}
}

static void test_a_hello_in_pieces(void **state)
{
	uint8_t whole[1024], split[1200];
	char name[MR_RULE_NAME_MAX + 1];
	size_t n = make_hello(SNI, sizeof(SNI) - 1, whole), at = 0;

	(void)state;
	for (size_t i = 5; i < n; i += 7) { /* records of at most seven bytes */
		size_t len = n - i < 7 ? n - i : 7;
		const uint8_t head[] = { 22, 3, 3, 0, (uint8_t)len };

		memcpy(split + at, head, 5);
		memcpy(split + at + 5, whole + i, len);
		at += 5 + len;
	}
	assert_int_equal(mr_sniff(split, at, name), MR_SNIFF_TLS);
	assert_string_equal(name, "a.example");
	/* What follows in the same record counts as well as not. */
	memcpy(whole + n, (const uint8_t[]){ 0x14, 3, 3, 0, 1, 1 }, 6);
	assert_int_equal(mr_sniff(whole, n + 6, name), MR_SNIFF_TLS);
	/* Another kind of record in the middle, an empty one, another message. */
	split[12] = 23;
	assert_int_equal(mr_sniff(split, at, name), MR_SNIFF_TLS_MALFORMED);
	assert_int_equal(sniff("\x16\3\1\0\0\x16\3\1\0\1\1", 11, name), MR_SNIFF_TLS_MALFORMED);
	assert_int_equal(sniff("\x16\3\1\0\4\2\0\0\0", 9, name), MR_SNIFF_TLS_MALFORMED);
	assert_int_equal(sniff("\x16\2\1\0\4\1\0\0\0", 9, name), MR_SNIFF_TLS_MALFORMED);
	/* Longer than is waited for. */
	assert_int_equal(sniff("\x16\3\1\x40\0\1\xff\0\0", 9, name), MR_SNIFF_TLS_MALFORMED);
}

static void test_hosts_of_requests(void **state)
{
	static const struct {
		const char *text;
		enum mr_sniff kind;
		const char *name;
	} rows[] = {
		{ "GET / HTTP/1.1\r\nHost: A.example\r\n\r\n", MR_SNIFF_HTTP, "a.example" },
		{ "GET / HTTP/1.0\r\nhOsT:\ta.example:8080 \r\n\r\n", MR_SNIFF_HTTP, "a.example" },
		{ "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", MR_SNIFF_HTTP, "::1" },
		{ "OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n", MR_SNIFF_HTTP, "a.example" },
		{ "GET http://a.example/x HTTP/1.1\r\nHost: a.example\r\n\r\n", MR_SNIFF_HTTP,
		  "a.example" },
		{ "GET http://b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
		  MR_SNIFF_HTTP_MALFORMED, NULL },
		{ "GET http://a.example@b.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n",
		  MR_SNIFF_HTTP_MALFORMED, NULL },
		{ "CONNECT b.example:443 HTTP/1.1\r\n", MR_SNIFF_HTTP_CONNECT, "b.example" },
		{ "CONNECT / HTTP/1.1\r\n", MR_SNIFF_HTTP_MALFORMED, NULL },
		{ "GET / HTTP/1.1\r\n\r\n", MR_SNIFF_HTTP_MALFORMED, NULL },
		{ "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", MR_SNIFF_HTTP_MALFORMED, NULL },
		{ "GET / HTTP/1.1\r\nHost : a\r\n\r\n", MR_SNIFF_HTTP_MALFORMED, NULL },
		{ "GET / HTTP/1.1\r\nX: y\r\n Host: b\r\nHost: a\r\n\r\n", MR_SNIFF_HTTP_MALFORMED,
		  NULL },
		{ "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", MR_SNIFF_HTTP_MALFORMED, NULL },
		{ "GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", MR_SNIFF_HTTP_MALFORMED, NULL },
		{ "GET / HTTP/1.1\r\nHost:\r\n\r\n", MR_SNIFF_HTTP_MALFORMED, NULL },
		{ "GET / HTTP/1.1\r\nnonsense\r\n\r\n", MR_SNIFF_HTTP_MALFORMED, NULL },
		{ "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", MR_SNIFF_HTTP_MALFORMED, NULL },
		{ "GET / http/1.1\r\nHost: a\r\n\r\n", MR_SNIFF_HTTP_MALFORMED, NULL },
		{ "GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n", MR_SNIFF_HTTP_MALFORMED, NULL },
		{ "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", MR_SNIFF_HTTP_MALFORMED, NULL },
		{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", MR_SNIFF_HTTP_MALFORMED, NULL },
		{ "G\x7f / HTTP/1.1\r\n\r\n", MR_SNIFF_HTTP_MALFORMED, NULL },
		{ "SSH-2.0-OpenSSH_9\r\n", MR_SNIFF_OTHER, "" },
		{ "PING\r\n", MR_SNIFF_OTHER, "" },
		{ "\x01\x02", MR_SNIFF_OTHER, "" },
		{ "GET / HTTP/1.1\r\nHost: a.example\r\n", MR_SNIFF_MORE, "" },
		{ "GET / HT", MR_SNIFF_MORE, "" },
		{ "", MR_SNIFF_MORE, "" },
		{ "\r\n", MR_SNIFF_MORE, "" },
	};
	char name[MR_RULE_NAME_MAX + 1], much[MR_SNIFF_MAX];

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		enum mr_sniff kind = sniff(rows[i].text, strlen(rows[i].text), name);

		if (kind != rows[i].kind || (rows[i].name && strcmp(name, rows[i].name) != 0))
			fail_msg("\"%s\": kind %d name \"%s\"", rows[i].text, kind, name);
	}
	memset(much, 'a', sizeof(much));
	assert_int_equal(sniff(much, sizeof(much) - 1, name), MR_SNIFF_MORE);
	assert_int_equal(sniff(much, sizeof(much), name), MR_SNIFF_HTTP_MALFORMED);
}

/* What one reader takes for one host and another for another, or for no request at all. */
static void test_what_could_be_read_otherwise(void **state)
{
#define ROW(text, kind)                                 \
	{                                               \
		text, sizeof(text) - 1, MR_SNIFF_##kind \
	}
#define G "Host: g.example\r\n\r\n"
	static const struct {
		const char *text;
		size_t size;
		enum mr_sniff kind;
	} rows[] = {
		/* Until the line's end is there it may be a request. */
		ROW("GET /\xc3\xa9", MORE),
		ROW("GET /\x01", MORE),
		ROW("GET\t\xff", MORE),
		ROW("M-SEARCH \x80", MORE),
		ROW("GET /\xc3\xa9 HTTP/1.1\r\nHost: e.example\r\n\r\n", HTTP),
		ROW("GET\x80", OTHER),
		ROW("AMQP\0\0\x09\x01", OTHER),
		ROW("\x01\x02\n", OTHER),
		/* HTTP/0.9, other gaps, other versions. */
		ROW("GET /x\r\n", HTTP_MALFORMED),
		ROW("GET  /x\n", HTTP_MALFORMED),
		ROW("GET\t/x\r\n", HTTP_MALFORMED),
		ROW("GET\xa0/x\r\n", HTTP_MALFORMED),
		ROW("GET http://e.example/\r\n", HTTP_MALFORMED),
		ROW("GET http:\\\\e.example/\r\n", HTTP_MALFORMED),
		ROW("\r\n\x0bGET http://e.example/\r\n", HTTP_MALFORMED),
		ROW("GET / HTTP/1.2\r\n" G, HTTP_MALFORMED),
		ROW("GET / HTTP/1.1\n" G, HTTP_MALFORMED),
		ROW("PROXY TCP4 1.1.1.1 2.2.2.2 1 2\r\nGET /", HTTP_MALFORMED),
		ROW("\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c", HTTP_MALFORMED),
		ROW("\r\n\r\n\0\r\nQUIX\n", OTHER),
		ROW("get user:1\r\n", OTHER),
		ROW("SET a\r\n", OTHER),
		/* Lines that are others for others. */
		ROW("GET / HTTP/1.1\r\nX: a\rHost: e.example\r\n" G, HTTP_MALFORMED),
		ROW("GET / HTTP/1.1\r\nX: a\nHost: e.example\n\n\r\n" G, HTTP_MALFORMED),
		ROW("GET / HTTP/1.1\r\nHost: g.example\n\r\n", HTTP_MALFORMED),
		ROW("GET / HTTP/1.1\r\nX: \x01\r\n" G, HTTP_MALFORMED),
		ROW("GET / HTTP/1.1\r\nX: \0\r\n" G, HTTP_MALFORMED),
		ROW("GET / HTTP/1.1\r\nX: \x7f\r\n" G, HTTP_MALFORMED),
		ROW("GET / HTTP/1.1\r\nX: \t\xc3\xa9\r\n" G, HTTP),
		ROW("GET / HTTP/1.1\r\nX: a\r\n\tb\r\n" G, HTTP_MALFORMED),
		ROW("GET / HTTP/1.1\r\nHost: g.example\r\n" G, HTTP_MALFORMED),
		ROW("GET / HTTP/1.1\r\nHost\xa0: e.example\r\n" G, HTTP_MALFORMED),
		ROW("GET / HTTP/1.1\r\n: x\r\n" G, HTTP_MALFORMED),
		/* Hosts that are others for others. */
		ROW("GET / HTTP/1.1\r\nHost: [g.example]e.example\r\n\r\n", HTTP_MALFORMED),
		ROW("GET / HTTP/1.1\r\nHost: [g.example]\r\n\r\n", HTTP_MALFORMED),
		ROW("GET / HTTP/1.1\r\nHost: [::1]e.example\r\n\r\n", HTTP_MALFORMED),
		ROW("GET / HTTP/1.1\r\nHost: [::1\0]\r\n\r\n", HTTP_MALFORMED),
		ROW("GET / HTTP/1.1\r\nHost: [\xff`id`]\r\n\r\n", HTTP_MALFORMED),
		ROW("GET / HTTP/1.1\r\nHost: g.example:80@e.example\r\n\r\n", HTTP_MALFORMED),
		ROW("GET / HTTP/1.1\r\nHost: g.example:\r\n\r\n", HTTP_MALFORMED),
		ROW("GET / HTTP/1.1\r\nHost: g.example:0\r\n\r\n", HTTP_MALFORMED),
		ROW("GET / HTTP/1.1\r\nHost: g.example:65535\r\n\r\n", HTTP),
		ROW("GET / HTTP/1.1\r\nHost: g.example:65536\r\n\r\n", HTTP_MALFORMED),
		ROW("GET http://g.example:80\\e.example/ HTTP/1.1\r\n" G, HTTP_MALFORMED),
		ROW("GET http://g.example:x@e.example/ HTTP/1.1\r\n" G, HTTP_MALFORMED),
		ROW("GET e.example/?x=://g.example HTTP/1.1\r\n" G, HTTP_MALFORMED),
		ROW("GET 1http://g.example/ HTTP/1.1\r\n" G, HTTP_MALFORMED),
		ROW("GET http:g.example HTTP/1.1\r\n" G, HTTP_MALFORMED),
		ROW("GET http://g.example:80?/@e HTTP/1.1\r\n" G, HTTP),
		ROW("connect g.example:1 HTTP/1.1\r\n" G, HTTP_CONNECT),
		ROW("CONNECT g.example:1@e HTTP/1.1\r\n" G, HTTP_MALFORMED),
		/* TLS that does not begin with its hello. */
		ROW("\x15\x03\x01\x00\x02\x01\x5a\x16\x03\x01\x00\x10", TLS_MALFORMED),
		ROW("\x14\x03", TLS_MALFORMED),
		ROW("\x18\x03", TLS_MALFORMED),
		ROW("\x14", MORE),
		ROW("\x15\x02", OTHER),
		ROW("\x19\x03", OTHER),
		ROW("\x80\x2e", MORE),
		ROW("\x80\x2e\x01\x03\x03", TLS_MALFORMED),
		ROW("\x80\x2e\x02", OTHER),
	};
	char name[MR_RULE_NAME_MAX + 1];

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		enum mr_sniff kind = sniff(rows[i].text, rows[i].size, name);

		if (kind != rows[i].kind)
			fail_msg("\"%s\": kind %d name \"%s\"", rows[i].text, kind, name);
		/* In pieces it is nothing else. */
		for (size_t cut = 0; cut < rows[i].size; cut++) {
			kind = sniff(rows[i].text, cut, name);
			if (kind != MR_SNIFF_MORE && kind != rows[i].kind)
				fail_msg("\"%s\" cut at %zu: kind %d", rows[i].text, cut, kind);
		}
	}
#undef G
#undef ROW
}

/* Frames of a client's bytes as "h" (and its host), "b" (and how many bytes), "m" and "x" (and what
 * it seems to be), fed in steps. */
static const char *frames(const char *bytes, size_t size, size_t step, char ret[300])
{
	static struct mr_gate_http h;
	size_t at = 0, there = step < size ? step : size, n = 0, body = 0;

	h = (struct mr_gate_http){ 0 };
	ret[0] = '\0';
	while (at < there) {
		char name[MR_RULE_NAME_MAX + 1];
		enum mr_sniff kind = MR_SNIFF_MORE;
		size_t used;
		enum mr_gate_frame frame = mr_gate_http_feed(&h, (const uint8_t *)bytes + at,
							     there - at, &used, &kind, name);

		at += used;
		body += frame == MR_GATE_FRAME_BODY ? used : 0;
		/* How much of a bad body was there before is a matter of the pieces. */
		if (body && frame != MR_GATE_FRAME_BAD &&
		    (frame != MR_GATE_FRAME_BODY || at == size)) {
			n += (size_t)snprintf(ret + n, 300 - n, "b%zu ", body);
			body = 0;
		}
		if (frame == MR_GATE_FRAME_HEAD)
			n += (size_t)snprintf(ret + n, 300 - n, "h%s ", name);
		if (frame == MR_GATE_FRAME_BAD) {
			snprintf(ret + n, 300 - n, "x%d", kind);
			return ret;
		}
		if (frame == MR_GATE_FRAME_MORE && there == size) {
			snprintf(ret + n, 300 - n, "m");
			return ret;
		}
		if (frame == MR_GATE_FRAME_MORE || at == there)
			there = there + step < size ? there + step : size;
	}
	return ret;
}

static void test_requests_on_one_connection(void **state)
{
#define GET(host) "GET / HTTP/1.1\r\nHost: " host "\r\n\r\n"
#define POST "POST /x HTTP/1.1\r\nHost: a.example\r\n"
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"
	static const struct {
		const char *bytes;
		size_t size;
		const char *frames;
	} rows[] = {
#define ROW(text, frames) { text, sizeof(text) - 1, frames }
		ROW(GET("a.example"), "ha.example "),
		ROW(GET("a.example") GET("B.example"), "ha.example hb.example "),
		ROW(GET("a.example") "GET /", "ha.example m"),
		ROW(POST "Content-Length: 5\r\n\r\nGET /" GET("b"), "ha.example b5 hb "),
		ROW(POST "Content-Length: 0\r\n\r\n" GET("b"), "ha.example hb "),
		ROW(POST "Content-Length: 99999999999\r\n\r\n" GET("b"), "ha.example b27 "),
		ROW(CHUNKED "1;x\r\n\n\r\n0\r\n\r\n" GET("b"), "ha.example b13 hb "),
		ROW(CHUNKED "0\r\nHost: c\r\n\r\n" GET("b"), "ha.example b14 hb "),
		ROW("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n" GET("b"), "ha hb "),
		ROW("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n" GET("b"), "ha hb "),
		/* After a request only requests. */
		ROW(GET("a.example") "\x81\x05hello", "ha.example x1"),
		ROW(GET("a.example") "\x16\3\1\0\1\1", "ha.example m"),
		ROW(GET("a.example") "PRI * HTTP/2.0\r\n\r\n", "ha.example x8"),
		ROW(GET("a.example") "CONNECT b:1 HTTP/1.1\r\n", "ha.example x7"),
		ROW(GET("a.example") "\r\n" GET("b"), "ha.example x8"),
		/* What has two lengths has none. */
		ROW(POST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", "x8"),
		ROW(POST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "x8"),
		ROW(POST "Content-Length: +1\r\n\r\n", "x8"),
		ROW(POST "Transfer-Encoding: xchunked\r\n\r\n", "x8"),
		ROW("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", "x8"),
		ROW(CHUNKED "1\nx", "ha.example x8"),
#undef ROW
	};
	char got[300];

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		for (size_t step = 1; step <= rows[i].size; step++) {
			frames(rows[i].bytes, rows[i].size, step, got);
			if (strcmp(got, rows[i].frames) != 0)
				fail_msg("\"%s\" by %zu: \"%s\"", rows[i].bytes, step, got);
		}
	}
#undef CHUNKED
#undef POST
#undef GET
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses_are_judged),
		cmocka_unit_test(test_a_pin_that_is_over_is_told),
		cmocka_unit_test(test_a_pin_opens_no_special_address),
		cmocka_unit_test(test_pins_are_bounded),
		cmocka_unit_test(test_names_are_judged),
		cmocka_unit_test(test_targets_of_names),
		cmocka_unit_test(test_queries_are_read),
		cmocka_unit_test(test_what_is_no_query),
		cmocka_unit_test(test_answers_are_read),
		cmocka_unit_test(test_our_query_is_read_back),
		cmocka_unit_test(test_server_names),
		cmocka_unit_test(test_a_hello_in_pieces),
		cmocka_unit_test(test_hosts_of_requests),
		cmocka_unit_test(test_what_could_be_read_otherwise),
		cmocka_unit_test(test_requests_on_one_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
