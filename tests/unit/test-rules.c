/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of --net allowlist: what is read, what it is printed as, what is refused, what it holds
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "netns/rules.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

#define FORMS                                                                           \
	"; accepted: HOST[:PORT] with a.b.c.d, a.b.c.d/N, [IPv6], [IPv6/N], a name or " \
	"*.domain"

static struct in6_addr address(const char *text)
{
	struct in6_addr ret;
	uint16_t port;
	char bracketed[80];

	snprintf(bracketed, sizeof(bracketed), strchr(text, ':') ? "[%s]" : "%s", text);
	assert_int_equal(mr_rule_parse_endpoint(bracketed, 1, &ret, &port, NULL), 0);
	return ret;
}

static struct mr_rule rule(const char *text)
{
	struct mr_rule ret;
	struct mr_error err = MR_ERROR_INIT;

	if (mr_rule_parse(text, &ret, &err) < 0)
		fail_msg("%s", err.msg);
	return ret;
}

static void test_what_is_read_is_printed_in_one_way(void **state)
{
	static const char *const rows[][2] = {
		{ "1.2.3.4", "1.2.3.4" },
		{ "1.2.3.4:1", "1.2.3.4:1" },
		{ "1.2.3.4/32:65535", "1.2.3.4:65535" },
		{ "10.0.0.0/8", "10.0.0.0/8" },
		{ "0.0.0.0/0:443", "0.0.0.0/0:443" },
		{ "2001:DB8::1", "[2001:db8::1]" },
		{ "[2001:db8::1]:80", "[2001:db8::1]:80" },
		{ "2001:db8::/32", "[2001:db8::/32]" },
		{ "[2001:db8::/32]:80", "[2001:db8::/32]:80" },
		{ "[::/0]", "[::/0]" },
		{ "Example.ORG", "example.org" },
		{ "example.org.", "example.org" },
		{ "example.org.:443", "example.org:443" },
		{ "host", "host" },
		{ "_x-1.example.org", "_x-1.example.org" },
		{ "*.Example.org:8080", "*.example.org:8080" },
		{ "1and1.example", "1and1.example" },
	};
	char buf[MR_RULE_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct mr_rule first = rule(rows[i][0]);

		assert_string_equal(mr_rule_print(&first, buf), rows[i][1]);
		const struct mr_rule again = rule(buf);

		assert_memory_equal(&again, &first, sizeof(first));
	}
}

static void test_what_is_refused_says_why(void **state)
{
	static const char *const rows[][2] = {
		{ "", "\"\": the host is empty" FORMS },
		{ ":80", "\":80\": the host is empty" FORMS },
		{ "a:", "\"a:\": the port is not one of 1 to 65535" FORMS },
		{ "a:0", "\"a:0\": the port is not one of 1 to 65535" FORMS },
		{ "a:65536", "\"a:65536\": the port is not one of 1 to 65535" FORMS },
		{ "a:+1", "\"a:+1\": the port is not one of 1 to 65535" FORMS },
		{ "a:http", "\"a:http\": the port is not one of 1 to 65535" FORMS },
		{ "1.2.3.4/33", "\"1.2.3.4/33\": the prefix length is not one of 0 to 32" FORMS },
		{ "1.2.3.4/", "\"1.2.3.4/\": the prefix length is not one of 0 to 32" FORMS },
		{ "1.2.3.4/24",
		  "\"1.2.3.4/24\": the address has bits beyond its prefix length" FORMS },
		{ "[2001:db8::/129]",
		  "\"[2001:db8::/129]\": the prefix length is not one of 0 to 128" FORMS },
		{ "[2001:db8::1/32]",
		  "\"[2001:db8::1/32]\": the address has bits beyond its prefix length" FORMS },
		{ "[1.2.3.4]", "\"[1.2.3.4]\": no IPv6 address is between the brackets" FORMS },
		{ "[::1", "\"[::1\": nothing but a port may follow \"]\"" FORMS },
		{ "[2001:db8::1]x",
		  "\"[2001:db8::1]x\": nothing but a port may follow \"]\"" FORMS },
		{ "1:2:3", "\"1:2:3\": this is no IPv6 address" FORMS },
		{ "::ffff:1.2.3.4",
		  "\"::ffff:1.2.3.4\": write an IPv4 address in its own form" FORMS },
		{ "127.0.0.1",
		  "\"127.0.0.1\": loopback is the sandbox's own and leads nowhere else" FORMS },
		{ "127.0.0.0/8",
		  "\"127.0.0.0/8\": loopback is the sandbox's own and leads nowhere else" FORMS },
		{ "::1", "\"::1\": loopback is the sandbox's own and leads nowhere else" FORMS },
		{ "localhost",
		  "\"localhost\": loopback is the sandbox's own and leads nowhere else" FORMS },
		{ "1.2.3", "\"1.2.3\": this is neither an address nor the name of a host" FORMS },
		{ "1.2.3.4.5",
		  "\"1.2.3.4.5\": this is neither an address nor the name of a host" FORMS },
		{ "016.2.3.4",
		  "\"016.2.3.4\": this is neither an address nor the name of a host" FORMS },
		{ "a..b", "\"a..b\": this is neither an address nor the name of a host" FORMS },
		{ ".a", "\".a\": this is neither an address nor the name of a host" FORMS },
		{ ".", "\".\": this is neither an address nor the name of a host" FORMS },
		{ "a b", "\"a b\": this is neither an address nor the name of a host" FORMS },
		{ "a/b", "\"a/b\": this is neither an address nor the name of a host" FORMS },
		{ "b\xc3\xbc",
		  "\"b\\xc3\\xbc\": this is neither an address nor the name of a host" FORMS },
		{ "*", "\"*\": this is neither an address nor the name of a host" FORMS },
		{ "*.org", "\"*.org\": a wildcard needs at least two labels behind it" FORMS },
		{ "a.*.org",
		  "\"a.*.org\": this is neither an address nor the name of a host" FORMS },
		{ "*.*.a.org",
		  "\"*.*.a.org\": this is neither an address nor the name of a host" FORMS },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct mr_error err = MR_ERROR_INIT;
		struct mr_rule untouched, before;

		memset(&untouched, 0x5a, sizeof(untouched));
		before = untouched;
		assert_int_equal(mr_rule_parse(rows[i][0], &untouched, &err), -EINVAL);
		assert_string_equal(err.msg, rows[i][1]);
		assert_int_equal(err.code, MR_E_USAGE);
		assert_memory_equal(&untouched, &before, sizeof(before));
	}
}

static void test_lengths_of_names(void **state)
{
	char label[65], name[300], ret[MR_RULE_NAME_MAX + 1];

	(void)state;
	memset(label, 'a', 64);
	label[64] = '\0';
	assert_false(mr_rule_normalise_name(label, 64, ret));
	assert_true(mr_rule_normalise_name(label, 63, ret));
	/* 253 bytes in all: three labels of 63, one of 61 */
	memset(name, 'a', sizeof(name));
	name[63] = name[127] = name[191] = '.';
	assert_true(mr_rule_normalise_name(name, 253, ret));
	assert_int_equal(strlen(ret), 253);
	assert_false(mr_rule_normalise_name(name, 254, ret));
	name[253] = '.';
	assert_true(mr_rule_normalise_name(name, 254, ret)); /* the dot at the end */
	assert_false(mr_rule_normalise_name("a\0b", 3, ret));
	assert_false(mr_rule_normalise_name("", 0, ret));
}

static void test_what_names_hold(void **state)
{
	const struct mr_rule name = rule("a.example"), below = rule("*.a.example");

	(void)state;
	assert_true(mr_rule_holds_name(&name, "a.example"));
	assert_false(mr_rule_holds_name(&name, "b.a.example"));
	assert_false(mr_rule_holds_name(&name, "xa.example"));
	assert_true(mr_rule_holds_name(&below, "b.a.example"));
	assert_true(mr_rule_holds_name(&below, "c.b.a.example"));
	assert_false(mr_rule_holds_name(&below, "a.example"));
	assert_false(mr_rule_holds_name(&below, "xa.example"));
	assert_false(mr_rule_holds_name(&below, "bada.example"));
	assert_false(mr_rule_holds_name(&below, "b.bada.example"));
	assert_false(mr_rule_holds_name(&below, ".a.example"));
	assert_false(mr_rule_holds_name(&below, ""));
}

static void test_what_networks_hold(void **state)
{
	static const struct {
		const char *rule, *address;
		bool holds;
	} rows[] = {
		{ "1.2.3.0/24", "1.2.3.0", true },
		{ "1.2.3.0/24", "1.2.3.255", true },
		{ "1.2.3.0/24", "1.2.4.0", false },
		{ "1.2.3.4/31", "1.2.3.5", true },
		{ "1.2.3.4/31", "1.2.3.6", false },
		{ "0.0.0.0/0", "255.255.255.255", true },
		{ "0.0.0.0/0", "2001:db8::1", false },
		{ "[::/0]", "2001:db8::1", true },
		{ "[::/0]", "1.2.3.4", false },
		{ "[2001:db8::/33]", "2001:db8:7fff::", true },
		{ "[2001:db8::/33]", "2001:db8:8000::", false },
		{ "a.example", "1.2.3.4", false },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct mr_rule r = rule(rows[i].rule);
		const struct in6_addr a = address(rows[i].address);

		if (mr_rule_holds_address(&r, &a) != rows[i].holds)
			fail_msg("%s holds %s: not %d", rows[i].rule, rows[i].address,
				 rows[i].holds);
	}
}

static void test_special_addresses(void **state)
{
	static const char *const special[] = {
		"0.0.0.0",
		"0.1.2.3",
		"10.0.0.0",
		"10.255.255.255",
		"127.0.0.1",
		"127.255.255.255",
		"172.16.0.0",
		"172.31.255.255",
		"192.168.0.0",
		"169.254.169.254",
		"100.64.0.1",
		"100.100.100.200",
		"192.0.0.192",
		"168.63.129.16",
		"198.18.0.1",
		"224.0.0.1",
		"240.0.0.1",
		"255.255.255.255",
		"::",
		"::1",
		"fc00::1",
		"fd00:ec2::254",
		"fe80::1",
		"fec0::1",
		"ff02::1",
		"::127.0.0.1",
		"::10.0.0.1",
		"64:ff9b::10.0.0.1",
		"64:ff9b::7f00:1",
		"2002:7f00:1::1",
		"2002:a00:1::",
		"64:ff9b:1::1",
		"2001::1",
		"::ffff:127.0.0.1",
		"::ffff:169.254.169.254",
	};
	static const char *const ordinary[] = {
		"1.1.1.1",	    "9.255.255.255",   "11.0.0.0",	"126.255.255.255",
		"128.0.0.0",	    "172.15.255.255",  "172.32.0.0",	"192.167.255.255",
		"192.169.0.0",	    "169.253.0.1",     "169.255.0.1",	"100.63.255.255",
		"100.128.0.0",	    "198.17.255.255",  "198.20.0.0",	"223.255.255.255",
		"192.0.1.0",	    "203.0.113.1",     "2001:db8::1",	"2606:4700::1",
		"64:ff9b::1.1.1.1", "2002:101:101::1", "168.63.129.17",
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(special); i++) {
		const struct in6_addr a = address(special[i]);

		if (!mr_rule_special(&a))
			fail_msg("%s is not special", special[i]);
	}
	for (size_t i = 0; i < N_ELEMENTS(ordinary); i++) {
		const struct in6_addr a = address(ordinary[i]);

		if (mr_rule_special(&a))
			fail_msg("%s is %s", ordinary[i], mr_rule_special(&a));
	}
}

static void test_special_addresses_need_a_rule_that_names_them(void **state)
{
	static const struct {
		const char *rule, *address;
		bool names;
	} rows[] = {
		{ "10.0.0.0/8", "10.1.2.3", true },
		{ "10.1.2.3", "10.1.2.3", true },
		{ "10.1.2.0/24:80", "10.1.2.3", true },
		{ "0.0.0.0/0", "10.1.2.3", false },
		{ "8.0.0.0/6", "10.1.2.3", false },
		{ "10.1.2.4", "10.1.2.3", false },
		{ "169.254.169.254", "169.254.169.254", true },
		{ "[::/0]", "fd00::1", false },
		{ "[fd00::/8]", "fd00::1", true },
		{ "[2002:a00:1::/48]", "2002:a00:1::1", false },
		{ "[2002:a00:1::1]", "2002:a00:1::1", true },
		{ "10.0.0.0/8", "2002:a00:1::1", false },
		{ "a.example", "10.1.2.3", false },
		{ "1.1.1.1", "1.1.1.1", false }, /* nothing special */
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct mr_rule r = rule(rows[i].rule);
		const struct in6_addr a = address(rows[i].address);

		if (mr_rule_names_special(&r, &a) != rows[i].names)
			fail_msg("%s names %s: not %d", rows[i].rule, rows[i].address,
				 rows[i].names);
	}
}

static void test_endpoints(void **state)
{
	static const char *const bad[] = { "",	       "a",	    "1.2.3",
					   "1.2.3.4:", "1.2.3.4:0", "1.2.3.4:65536",
					   "::1",      "[::1",	    "[::1]x",
					   "[::1]:",   "[1.2.3.4]", "1.2.3.4/32",
					   "[]" };
	struct mr_error err = MR_ERROR_INIT;
	char text[INET6_ADDRSTRLEN];
	struct in6_addr a;
	uint16_t port;

	(void)state;
	assert_int_equal(mr_rule_parse_endpoint("127.0.0.1", 53, &a, &port, &err), 0);
	assert_int_equal(port, 53);
	assert_string_equal(mr_rule_print_address(&a, text), "127.0.0.1");
	assert_int_equal(mr_rule_parse_endpoint("[::1]:5353", 53, &a, &port, &err), 0);
	assert_int_equal(port, 5353);
	assert_string_equal(mr_rule_print_address(&a, text), "::1");
	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		if (mr_rule_parse_endpoint(bad[i], 53, &a, &port, &err) != -EINVAL)
			fail_msg("\"%s\" is taken", bad[i]);
	}
	assert_string_equal(err.msg, "\"[]\" is no address of a server; accepted: a.b.c.d, "
				     "a.b.c.d:PORT, [IPv6] or [IPv6]:PORT");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_read_is_printed_in_one_way),
		cmocka_unit_test(test_what_is_refused_says_why),
		cmocka_unit_test(test_lengths_of_names),
		cmocka_unit_test(test_what_names_hold),
		cmocka_unit_test(test_what_networks_hold),
		cmocka_unit_test(test_special_addresses),
		cmocka_unit_test(test_special_addresses_need_a_rule_that_names_them),
		cmocka_unit_test(test_endpoints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
