/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mock: what is read, what is refused and how, who answers, and the way to another process
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "netns/mock.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"

static void add(struct mr_mocks *mocks, const char *text)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_mock mock;
	int r = mr_mock_parse(text, &mock, &err);

	if (r == 0)
		r = mr_mocks_add(mocks, &mock, &err);
	if (r < 0)
		fail_msg("%s: %s", text, err.msg);
	mr_assert(mocks->v);
}

static void refused(const char *text, const char *message)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_mock mock;

	if (mr_mock_parse(text, &mock, &err) >= 0)
		fail_msg("%s was accepted", text);
	assert_string_equal(err.msg, message);
	assert_int_equal(err.code, MR_E_USAGE);
}

static void targets_are_normalised(void **state)
{
	static const char *const pairs[][2] = {
		{ "http://a.example", "http://a.example/" },
		{ "HTTP://A.Example:80/X?q=1", "http://a.example/X?q=1" },
		{ "https://a.example:443/", "https://a.example/" },
		{ "https://a.example:8443?x", "https://a.example:8443/?x" },
		{ "http://a.example:443/", "http://a.example:443/" },
		{ "http://a.example./v1/*", "http://a.example/v1/*" },
		{ "A.example.", "a.example" },
		{ "a_b.example:65535", "a_b.example:65535" },
		{ "93.184.216.34:1", "93.184.216.34:1" },
		{ "[2001:DB8:0:0::1]:8080", "[2001:db8::1]:8080" },
		{ "https://[2001:db8::0001]:443/x*", "https://[2001:db8::1]/x*" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(pairs); i++) {
		mr_auto_free char *text = mr_str_format("%s=status:200", pairs[i][0]);
		struct mr_mocks mocks = { 0 };

		add(&mocks, text);
		assert_string_equal(mocks.v[0].target, pairs[i][1]);
		mr_mocks_deinit(&mocks);
	}
}

static void targets_that_are_none_are_refused(void **state)
{
	(void)state;
	refused("", "\"\": no answer; accepted: TARGET=ACTION");
	refused("a.example", "\"a.example\": no answer; accepted: TARGET=ACTION");
	refused("=reset", "\"\": the target is empty; accepted: URL, URL-PREFIX*, HOST[:PORT]");
	refused("ftp://a/=reset", "\"ftp\": unknown scheme; accepted: http, https");
	refused("a/b=reset", "\"a/b\": neither HOST[:PORT] nor a URL with http:// or https://");
	refused("http://u:p@a/=reset", "\"u:p@a\": a target has no user and no password");
	refused("http:///x=reset", "\"\": the host is empty");
	refused("a:0=reset", "\"0\": not a port; accepted: 1 to 65535");
	refused("a:65536=reset", "\"65536\": not a port; accepted: 1 to 65535");
	refused("a:=reset", "\"\": not a port; accepted: 1 to 65535");
	refused("a:99999999999999999999=reset",
		"\"99999999999999999999\": not a port; accepted: 1 to 65535");
	refused("http://a*=reset", "\"a\": a prefix ends in the path: write \"/*\"");
	refused("http://a/*b=reset", "\"/*b\": a '*' stands at the end only");
	refused("http://a/x#y=reset",
		"\"/x#y\": a space, '#', control or non-ASCII character is never part of what is "
		"asked for; write it percent-encoded");
	refused("[::1]:80=reset", "\"[::1]\": the sandbox's own loopback is not mocked");
	refused("http://[0:0::1]:8080/=reset",
		"\"[::1]\": the sandbox's own loopback is not mocked");
	refused("2001:db8::1=reset",
		"\"2001:db8::1\": an IPv6 address stands in brackets: [2001:db8::1]:8080");
	refused("[2001:db8::1=reset",
		"\"[2001:db8::1\": an IPv6 address stands in brackets: [2001:db8::1]:8080");
	refused("[=reset", "\"[\": not an IPv6 address in brackets");
	refused("[]=reset", "\"[]\": not an IPv6 address in brackets");
	refused("[2001:db8::1]x=reset", "\"[2001:db8::1]x\": not an IPv6 address in brackets");
	refused("[fe80::1%lo]=reset", "\"[fe80::1%lo]\": not an IPv6 address in brackets");
	refused("[::ffff:1.2.3.4]=reset",
		"\"[::ffff:1.2.3.4]\": an IPv4 address is written as one: a.b.c.d");
	for (size_t i = 0; i < 4; i++) {
		static const char *const hosts[] = { "[::]", "[fe80::1]", "[ff02::1]",
						     "[2001:2::1]" };
		mr_auto_free char *text = mr_str_format("%s=reset", hosts[i]);
		mr_auto_free char *message = mr_str_format("\"%s\": not the address of a host that "
							   "could be mocked (2001:2::/48 is "
							   "what mocked names are given)",
							   hosts[i]);

		refused(text, message);
	}
	refused("localhost=reset", "\"localhost\": the sandbox's own loopback is not mocked");
	refused("http://127.0.0.2/=reset",
		"\"127.0.0.2\": the sandbox's own loopback is not mocked");
	refused("1.2.3=reset", "\"1.2.3\": neither a name nor an IPv4 address");
	refused("198.18.0.1=reset",
		"\"198.18.0.1\": not the address of a host that could be mocked (198.18.0.0/16 is "
		"what mocked names are given)");
	refused("-a.example=reset", "\"-a.example\": not the name of a host");
	refused("a..b=reset", "\"a..b\": not the name of a host");
	refused("a b=reset", "\"a b\": not the name of a host");
}

static void actions_that_are_none_are_refused(void **state)
{
	(void)state;
	refused("a=", "\"\": unknown answer; accepted: @FILE, body:TEXT, exec:COMMAND, status:N, "
		      "header:NAME:VALUE, type:MIME, delay:TIME, within:TIME, fail:KIND[:F/R], "
		      "timeout, reset, truncate, flip, auth");
	refused("a=status:199", "\"199\": not a status; accepted: 200 to 599");
	refused("a=status:600", "\"600\": not a status; accepted: 200 to 599");
	refused("a=status:2x0", "\"2x0\": not a status; accepted: 200 to 599");
	refused("a=status:200,status:201", "\"201\": the status is said twice");
	refused("a=@", "\"\": the name of the file is empty");
	refused("a=@x,@y", "\"y\": the body is said twice");
	refused("a=@x,body:y", "the body is said twice");
	refused("a=delay:1s", "\"a\": no answer; accepted: @FILE, body:TEXT, exec:COMMAND, "
			      "status:N or a failure");
	refused("a=status:200,delay:601s", "\"601s\": the delay is too long; accepted: 0 to 10m");
	refused("a=truncate", "\"a\": truncate and flip need a body");
	refused("a=flip,body:", "\"a\": truncate and flip need a body");
	refused("a=status:204,body:x", "\"a\": an answer of status 204, 205 or 304 has no body");
	refused("a=fail:399", "\"399\": unknown failure; accepted: 400 to 599, auth, reset, "
			      "timeout, truncate, flip");
	refused("a=fail:reset:2/1",
		"\"2/1\": accepted: F/R, F failures of every R requests, 1 <= F <= R <= 10000");
	refused("a=fail:reset:0/1",
		"\"0/1\": accepted: F/R, F failures of every R requests, 1 <= F <= R <= 10000");
	refused("a=fail:reset:1/10001",
		"\"1/10001\": accepted: F/R, F failures of every R requests, 1 <= F <= R <= 10000");
	refused("a=fail:reset,timeout", "\"timeout\": a failure is said twice");
	refused("a=status:200,header:x", "\"x\": accepted: NAME:VALUE");
	refused("a=status:200,header:a b:c", "\"a b:c\": not the name of a header");
	refused("a=status:200,header:X:a\rb", "\"a\\x0db\": a header's value is printable ASCII");
	refused("a=status:200,header:content-Length:3",
		"\"content-Length:3\": this header is the responder's own");
	refused("a=status:200,header:X:1,header:x:2", "\"x:2\": this header is said twice");
	refused("a=exec:", "\"\": the command is empty");
	refused("a=exec: \t ", "\" \\t \": the command is empty");
	refused("a=exec:'' x", "\"'' x\": the command is empty");
	refused("a=exec:x 'y", "\"x 'y\": a quote is not closed");
	refused("a=exec:x \"y\\\"", "\"x \\\"y\\\\\\\"\": a quote is not closed");
	refused("a=exec:x \\", "\"x \\\\\": nothing follows the last \\");
	refused("a=@x,exec:y", "\"y\": the body is said twice");
	refused("a=truncate,exec:x",
		"\"a\": truncate and flip need a body that is known; a command's is not");
	refused("a=flip,exec:x",
		"\"a\": truncate and flip need a body that is known; a command's is not");
	refused("a=within:1s,body:x", "\"a\": within is the time that a command (exec) has");
	refused("a=within:0s,exec:x",
		"\"0s\": not a time that a command may have; accepted: 1ms to 5m");
	refused("a=within:301s,exec:x",
		"\"301s\": not a time that a command may have; accepted: 1ms to 5m");
}

static void an_action_says_it_all(void **state)
{
	struct mr_mocks mocks = { 0 };
	const struct mr_mock *m;
	char buf[MR_MOCK_FAIL_SIZE];

	(void)state;
	add(&mocks,
	    "https://a.example/x?a=1&b=2=status:201,header:X-A: 1,type:text/plain,delay:50ms,"
	    "fail:503:1/3,body:{\"a\":1,\"b\":2}");
	m = &mocks.v[0];
	assert_string_equal(m->target, "https://a.example/x?a=1&b=2");
	assert_int_equal(m->status, 201);
	assert_int_equal(m->n_headers, 2);
	assert_string_equal(m->headers[0], "X-A: 1");
	assert_string_equal(m->headers[1], "Content-Type: text/plain");
	assert_int_equal(m->delay_ms, 50);
	assert_int_equal(m->fault, MR_FAULT_STATUS);
	assert_int_equal(m->fault_status, 503);
	assert_string_equal(mr_mock_fail_text(m, buf), "503:1/3");
	assert_string_equal(m->body, "{\"a\":1,\"b\":2}");
	add(&mocks, "b=@/x=y");
	assert_string_equal(mocks.v[1].file, "/x=y");
	add(&mocks, "http://c/?q=reset2=timeout");
	assert_string_equal(mocks.v[2].target, "http://c/?q=reset2");
	assert_string_equal(mr_mock_fail_text(&mocks.v[2], buf), "timeout");
	mr_mocks_deinit(&mocks);
}

/* The words of a command, each between bars. */
static void has_words(const char *command, const char *words)
{
	mr_auto_free char *text = mr_str_format("a=status:201,exec:%s", command);
	mr_auto_buf struct mr_buf buf = { 0 };
	struct mr_mocks mocks = { 0 };

	add(&mocks, text);
	assert_true(mocks.v[0].by_command);
	for (size_t i = 0; i < mocks.v[0].n_words; i++)
		mr_buf_printf(&buf, "|%s", mocks.v[0].words[i]);
	assert_string_equal(buf.text, words);
	assert_null(mocks.v[0].words[mocks.v[0].n_words]);
	mr_mocks_deinit(&mocks);
}

static void a_command_is_split_and_nothing_else(void **state)
{
	mr_auto_buf struct mr_buf many = { 0 };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_mock mock = { 0 };
	static const char *const words[] = { "./a", "'", "" };

	(void)state;
	has_words("date", "|date");
	has_words(" a\tb  c ", "|a|b|c");
	has_words("a,b=c,@d body:e", "|a,b=c,@d|body:e");
	has_words("a 'b c' \"d e\" f\\ g", "|a|b c|d e|f g");
	has_words("a '' \"\" b''c", "|a|||bc");
	has_words("a '\\\"' \"\\\"\\\\\\x'\" \\'", "|a|\\\"|\"\\\\x'|'");
	has_words("a $HOME `id` $(id) * ~ ;x &y |z >w #v",
		  "|a|$HOME|`id`|$(id)|*|~|;x|&y||z|>w|#v");
	mr_buf_add(&many, "a=exec:0");
	for (int i = 1; i < MR_MOCK_WORDS_MAX; i++)
		mr_buf_add(&many, " x");
	assert_int_equal(mr_mock_parse(many.text, &mock, &err), 0);
	assert_int_equal(mock.n_words, MR_MOCK_WORDS_MAX);
	mr_mock_deinit(&mock);
	mr_buf_add(&many, " y");
	refused(many.text, "\"y\": too many words of a command; accepted: at most 64");
	mr_buf_clear(&many);
	mr_buf_add(&many, "a=exec:");
	for (int i = 0; i < MR_MOCK_COMMAND_MAX - 1; i++)
		mr_buf_add(&many, "x");
	assert_int_equal(mr_mock_parse(many.text, &mock, &err), 0);
	mr_mock_deinit(&mock);
	mr_buf_add(&many, "x");
	assert_true(mr_mock_parse(many.text, &mock, &err) < 0);
	assert_non_null(strstr(err.msg, "the command is too long; accepted: at most 4096 bytes"));
	assert_int_equal(mr_mock_set_words(&mock, words, 3, &err), 0);
	assert_string_equal(mock.words[1], "'");
	assert_true(mr_mock_set_words(&mock, words, 3, &err) < 0);
	mr_mock_deinit(&mock);
}

static void no_target_twice_and_not_too_many(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_mocks mocks = { 0 };
	struct mr_mock mock;

	(void)state;
	add(&mocks, "http://a.example/=reset");
	assert_int_equal(mr_mock_parse("http://A.example:80=status:200", &mock, &err), 0);
	assert_true(mr_mocks_add(&mocks, &mock, &err) < 0);
	assert_string_equal(err.msg, "\"http://a.example/\" has an answer already");
	for (int i = 1; i < MR_MOCKS_MAX; i++) {
		mr_auto_free char *text = mr_str_format("h%d=reset", i);

		add(&mocks, text);
	}
	assert_int_equal(mr_mock_parse("one.more=reset", &mock, &err), 0);
	assert_true(mr_mocks_add(&mocks, &mock, &err) < 0);
	assert_string_equal(err.msg, "too many mocks; accepted: at most 256");
	mr_mocks_deinit(&mocks);
}

static const char *match(const struct mr_mocks *mocks, bool https, const char *host, uint16_t port,
			 const char *path)
{
	const struct mr_mock *mock = mr_mocks_match(mocks, https, host, port, path);

	return mock ? mock->target : "";
}

static void the_most_special_answers(void **state)
{
	struct mr_mocks mocks = { 0 };

	(void)state;
	add(&mocks, "a=status:200");
	add(&mocks, "a:8080=status:200");
	add(&mocks, "http://a/v1/*=status:200");
	add(&mocks, "http://a/v1/long/*=status:200");
	add(&mocks, "http://a/v1/long/x=status:200");
	add(&mocks, "https://b/=status:200");
	assert_string_equal(match(&mocks, false, "a", 80, "/v1/long/x"), "http://a/v1/long/x");
	assert_string_equal(match(&mocks, false, "a", 80, "/v1/long/x?"), "http://a/v1/long/*");
	assert_string_equal(match(&mocks, false, "a", 80, "/v1/"), "http://a/v1/*");
	assert_string_equal(match(&mocks, false, "a", 80, "/v1"), "a");
	assert_string_equal(match(&mocks, true, "a", 80, "/v1/long/x"), "a");
	assert_string_equal(match(&mocks, true, "a", 8080, "/v1/long/x"), "a:8080");
	assert_string_equal(match(&mocks, false, "b", 80, "/"), "");
	assert_string_equal(match(&mocks, true, "b", 443, "/"), "https://b/");
	assert_string_equal(match(&mocks, true, "b", 443, "/x"), "");
	assert_string_equal(match(&mocks, true, "b", 444, "/"), "");
	assert_string_equal(match(&mocks, false, "c", 80, "/"), "");
	assert_true(mr_mocks_has_host(&mocks, "b", 443));
	assert_false(mr_mocks_has_host(&mocks, "b", 80));
	assert_true(mr_mocks_has_host(&mocks, "a", 22));
	mr_mocks_deinit(&mocks);
}

static const char *address_of(const struct mr_mocks *mocks, const char *host, int family)
{
	static char text[INET6_ADDRSTRLEN];
	struct in6_addr address;

	if (!mr_mocks_address(mocks, host, family, &address))
		return "none";
	return inet_ntop(AF_INET6, &address, text, sizeof(text));
}

static const char *name_of(const struct mr_mocks *mocks, const char *text)
{
	struct in6_addr address;
	const char *name;

	assert_int_equal(inet_pton(AF_INET6, text, &address), 1);
	name = mr_mocks_name(mocks, &address);
	return name ? name : "none";
}

static void each_name_has_an_address_of_each_family(void **state)
{
	struct mr_mocks mocks = { 0 };

	(void)state;
	add(&mocks, "a=status:200");
	add(&mocks, "93.184.216.34=status:200");
	add(&mocks, "a:1=status:200");
	add(&mocks, "b=status:200");
	add(&mocks, "[2001:db8::1]=status:200");
	assert_string_equal(address_of(&mocks, "a", AF_INET), "::ffff:198.18.0.1");
	assert_string_equal(address_of(&mocks, "a", AF_INET6), "2001:2::1");
	assert_string_equal(address_of(&mocks, "b", AF_INET), "::ffff:198.18.0.2");
	assert_string_equal(address_of(&mocks, "b", AF_INET6), "2001:2::2");
	assert_string_equal(address_of(&mocks, "93.184.216.34", AF_INET), "::ffff:93.184.216.34");
	assert_string_equal(address_of(&mocks, "93.184.216.34", AF_INET6), "none");
	assert_string_equal(address_of(&mocks, "[2001:db8::1]", AF_INET6), "2001:db8::1");
	assert_string_equal(address_of(&mocks, "[2001:db8::1]", AF_INET), "none");
	assert_string_equal(address_of(&mocks, "c", AF_INET), "none");
	assert_string_equal(name_of(&mocks, "::ffff:198.18.0.1"), "a");
	assert_string_equal(name_of(&mocks, "2001:2::1"), "a");
	assert_string_equal(name_of(&mocks, "2001:2::2"), "b");
	assert_string_equal(name_of(&mocks, "::ffff:93.184.216.34"), "93.184.216.34");
	assert_string_equal(name_of(&mocks, "2001:db8::1"), "[2001:db8::1]");
	assert_string_equal(name_of(&mocks, "::ffff:198.18.0.3"), "none");
	assert_string_equal(name_of(&mocks, "::ffff:198.18.0.0"), "none");
	assert_string_equal(name_of(&mocks, "::ffff:198.19.0.1"), "none");
	assert_string_equal(name_of(&mocks, "2001:2::"), "none");
	assert_string_equal(name_of(&mocks, "2001:2::3"), "none");
	assert_string_equal(name_of(&mocks, "2001:2::1:0:1"), "none");
	assert_string_equal(name_of(&mocks, "2001:2:0:0:1::1"), "none");
	assert_string_equal(name_of(&mocks, "::"), "none");
	assert_string_equal(name_of(&mocks, "::1"), "none");
	mr_mocks_deinit(&mocks);
}

static void packed_is_unpacked_whole_or_not_at_all(void **state)
{
	struct mr_mocks mocks = { 0 }, again = { 0 };
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_buf struct mr_buf buf = { 0 }, second = { 0 };

	(void)state;
	add(&mocks, "https://a.example/x=status:201,header:X-A:1,header:X-B:2,delay:5ms,"
		    "fail:flip:2/5,body:hello");
	add(&mocks, "[2001:db8::1]:22=reset");
	add(&mocks, "c=exec:date");
	mr_mocks_pack(&mocks, &buf);
	assert_int_equal(mr_mocks_unpack(buf.text, buf.len, &again, &err), 0);
	mr_mocks_pack(&again, &second);
	assert_int_equal(second.len, buf.len);
	assert_memory_equal(second.text, buf.text, buf.len);
	mr_mocks_deinit(&again);
	for (size_t n = 0; n < buf.len; n++)
		assert_true(mr_mocks_unpack(buf.text, n, &again, &err) < 0);
	mr_buf_add(&buf, "x");
	assert_true(mr_mocks_unpack(buf.text, buf.len, &again, &err) < 0);
	mr_mocks_copy(&again, &mocks);
	mr_mocks_deinit(&mocks);
	assert_string_equal(again.v[0].headers[1], "X-B: 2");
	assert_string_equal(again.v[0].body, "hello");
	mr_mocks_deinit(&again);
}

static void what_is_to_be_cut_must_be_there(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_mocks mocks = { 0 };

	(void)state;
	add(&mocks, "a=@/dev/null/x,truncate");
	assert_true(mr_mocks_load(&mocks, &err) < 0);
	assert_string_equal(err.msg, "mock a: open /dev/null/x: Not a directory");
	mr_mocks_deinit(&mocks);
	add(&mocks, "a=@/dev/null");
	assert_true(mr_mocks_load(&mocks, &err) < 0);
	assert_string_equal(err.msg, "mock a: /dev/null is not a regular file");
	mr_mocks_deinit(&mocks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(targets_are_normalised),
		cmocka_unit_test(targets_that_are_none_are_refused),
		cmocka_unit_test(actions_that_are_none_are_refused),
		cmocka_unit_test(an_action_says_it_all),
		cmocka_unit_test(a_command_is_split_and_nothing_else),
		cmocka_unit_test(no_target_twice_and_not_too_many),
		cmocka_unit_test(the_most_special_answers),
		cmocka_unit_test(each_name_has_an_address_of_each_family),
		cmocka_unit_test(packed_is_unpacked_whole_or_not_at_all),
		cmocka_unit_test(what_is_to_be_cut_must_be_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
