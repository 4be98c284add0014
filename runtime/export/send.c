/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Send
 *
 * The receiver is not trusted with more than its answer: redirects are not followed,
 * only http and https are spoken, certificates are verified, and answers are bounded
 * in time, size and headers.  What may be retried and what must not is OTLP's table.
 */
#include "runtime/export/send.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"

#define ANSWER_MAX ((size_t)4 << 20)
#define HEADERS_MAX ((size_t)64 << 10)

struct mr_sender {
	CURL *curl;
	struct curl_slist *headers;
	char *endpoint, *ca;
	uint64_t timeout_ms, retries, wait_ms, requests;
	/* of the answer under way */
	char *answer;
	size_t size, cap, header_bytes;
	bool too_large;
	char why[CURL_ERROR_SIZE];
};

/* --- set-up ---------------------------------------------------------------- */

static bool has_part(CURLU *url, CURLUPart part)
{
	char *text = NULL;
	bool has = curl_url_get(url, part, &text, 0) == CURLUE_OK;

	curl_free(text);
	return has;
}

static int check_url(CURLU *url, const char *endpoint, struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];
	char *scheme = NULL;
	bool good;

	if (curl_url_set(url, CURLUPART_URL, endpoint, CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK ||
	    curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "%s is no address; accepted: http://HOST[:PORT][/PATH] and https://",
			      mr_str_quote(quoted, sizeof(quoted), endpoint));
	good = strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0;
	curl_free(scheme);
	if (!good)
		return mr_err(err, MR_E_USAGE, EINVAL, "%s: only http and https are spoken",
			      mr_str_quote(quoted, sizeof(quoted), endpoint));
	if (has_part(url, CURLUPART_USER) || has_part(url, CURLUPART_PASSWORD))
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "an address with a user or password in it is not taken: say it with "
			      "--header");
	if (has_part(url, CURLUPART_QUERY) || has_part(url, CURLUPART_FRAGMENT))
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "%s: nothing may stand behind the path, /v1/metrics and /v1/logs do",
			      mr_str_quote(quoted, sizeof(quoted), endpoint));
	return 0;
}

static int take_endpoint(struct mr_sender *sender, const char *endpoint, struct mr_error *err)
{
	CURLU *url = curl_url();
	size_t n;
	int r;

	mr_assert(url);
	r = check_url(url, endpoint, err);
	curl_url_cleanup(url);
	sender->endpoint = mr_str_dup(endpoint);
	for (n = strlen(endpoint); n > 0 && sender->endpoint[n - 1] == '/'; n--)
		sender->endpoint[n - 1] = '\0';
	return r;
}

static void add_header(struct mr_sender *sender, const char *header)
{
	struct curl_slist *longer = curl_slist_append(sender->headers, header);

	mr_assert(longer);
	sender->headers = longer;
}

/* The value may be a secret: no message has it. */
static int take_header(struct mr_sender *sender, const char *header, struct mr_error *err)
{
	static const char token[] = "!#$%&'*+-.^_`|~0123456789"
				    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t name = strspn(header, token);

	if (name == 0 || header[name] != ':')
		return mr_err(err, MR_E_USAGE, EINVAL, "a header is \"Name: value\"");
	for (const char *p = header + name; *p; p++)
		if ((unsigned char)*p < 0x20 && *p != '\t')
			return mr_err(err, MR_E_USAGE, EINVAL,
				      "header %.*s: its value has control characters", (int)name,
				      header);
	if (header[name + 1 + strspn(header + name + 1, " \t")] == '\0')
		return mr_err(err, MR_E_USAGE, EINVAL, "header %.*s has no value", (int)name,
			      header);
	add_header(sender, header);
	return 0;
}

static size_t on_answer(char *data, size_t one, size_t size, void *owner)
{
	struct mr_sender *sender = owner;

	(void)one; /* is 1 */
	if (size > ANSWER_MAX - sender->size) {
		sender->too_large = true;
		return 0; /* ends it */
	}
	while (sender->size + size + 1 > sender->cap)
		sender->answer = mr_str_grow(sender->answer, sender->cap, &sender->cap, 1);
	memcpy(sender->answer + sender->size, data, size);
	sender->size += size;
	sender->answer[sender->size] = '\0';
	return size;
}

static size_t on_header(char *data, size_t one, size_t size, void *owner)
{
	struct mr_sender *sender = owner;

	(void)data;
	(void)one;
	sender->header_bytes += size;
	if (sender->header_bytes <= HEADERS_MAX)
		return size;
	sender->too_large = true;
	return 0;
}

#define SET(option, value) mr_assert(curl_easy_setopt(sender->curl, (option), (value)) == CURLE_OK)

static void set_up(struct mr_sender *sender)
{
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_SSL_VERIFYPEER, 1L);
	SET(CURLOPT_SSL_VERIFYHOST, 2L);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_CONNECTTIMEOUT_MS, (long)MR_PATIENCE_MS(SEND_CONNECT));
	SET(CURLOPT_TIMEOUT_MS, (long)sender->timeout_ms);
	SET(CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)ANSWER_MAX);
	SET(CURLOPT_USERAGENT, "menace/" MENACE_VERSION);
	SET(CURLOPT_ERRORBUFFER, sender->why);
	SET(CURLOPT_WRITEFUNCTION, on_answer);
	SET(CURLOPT_WRITEDATA, sender);
	SET(CURLOPT_HEADERFUNCTION, on_header);
	SET(CURLOPT_HEADERDATA, sender);
	SET(CURLOPT_HTTPHEADER, sender->headers);
	if (sender->ca) {
		SET(CURLOPT_CAINFO, sender->ca);
		SET(CURLOPT_CAPATH, NULL); /* else the system's folder is trusted as well */
	}
}

int mr_sender_new(const struct mr_send_opts *opts, struct mr_sender **ret, struct mr_error *err)
{
	struct mr_sender *sender = mr_str_alloc(sizeof(*sender));
	int r;

	mr_assert(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
	sender->curl = curl_easy_init();
	mr_assert(sender->curl);
	sender->timeout_ms = opts->timeout_ms;
	sender->retries = opts->retries;
	sender->wait_ms = opts->wait_ms;
	sender->ca = opts->ca ? mr_str_dup(opts->ca) : NULL;
	r = take_endpoint(sender, opts->endpoint, err);
	add_header(sender, "Content-Type: application/json");
	add_header(sender, "Accept: application/json");
	add_header(sender, "Expect:"); /* the body goes without waiting */
	for (size_t i = 0; i < opts->n_headers && r == 0; i++)
		r = take_header(sender, opts->headers[i], err);
	if (r < 0) {
		mr_sender_free(sender);
		return r;
	}
	set_up(sender);
	*ret = sender;
	return 0;
}

struct mr_sender *mr_sender_free(struct mr_sender *sender)
{
	if (!sender)
		return NULL;
	curl_easy_cleanup(sender->curl);
	curl_slist_free_all(sender->headers);
	curl_global_cleanup();
	free(sender->endpoint);
	free(sender->ca);
	free(sender->answer);
	free(sender);
	return NULL;
}

uint64_t mr_sender_requests(const struct mr_sender *sender)
{
	return sender->requests;
}

/* --- answers --------------------------------------------------------------- */

/* "123" or 123; what is neither counts as none. */
static uint64_t read_count(const json_t *value)
{
	uint64_t count = 0;

	if (json_is_integer(value) && json_integer_value(value) > 0)
		return (uint64_t)json_integer_value(value);
	if (json_is_string(value) &&
	    mr_units_parse_count(json_string_value(value), &count, NULL) < 0)
		return 0;
	return count;
}

static int judge_success(const struct mr_sender *sender, uint64_t *ret_rejected,
			 struct mr_error *err)
{
	mr_auto_json json_t *answer = NULL;
	const json_t *partial;
	const char *message;
	char quoted[300];

	if (sender->size == 0)
		return MR_SEND_ACCEPTED;
	if (mr_json_parse(sender->answer, sender->size, "answer", &answer, NULL) < 0) {
		mr_err(err, MR_E_PROTO, EBADMSG, "accepted, but the answer is no JSON");
		return MR_SEND_PARTLY;
	}
	partial = json_object_get(answer, "partialSuccess");
	message = json_string_value(json_object_get(partial, "errorMessage"));
	*ret_rejected = read_count(json_object_get(partial, "rejectedDataPoints")) +
			read_count(json_object_get(partial, "rejectedLogRecords"));
	if (*ret_rejected == 0 && (!message || message[0] == '\0'))
		return MR_SEND_ACCEPTED;
	mr_err(err, MR_E_PROTO, EBADMSG, "the receiver rejected %llu of them: %s",
	       (unsigned long long)*ret_rejected,
	       mr_str_quote(quoted, sizeof(quoted), message ? message : ""));
	return MR_SEND_PARTLY;
}

static int say_refusal(const struct mr_sender *sender, long status, struct mr_error *err)
{
	mr_auto_json json_t *answer = NULL;
	const char *message;
	char quoted[300];

	if (sender->size > 0)
		mr_json_parse(sender->answer, sender->size, "answer", &answer, NULL);
	message = json_string_value(json_object_get(answer, "message"));
	if (status >= 300 && status < 400)
		return mr_err(err, MR_E_PROTO, EPROTO,
			      "the receiver answers %ld; redirects are not followed", status);
	return mr_err(err, MR_E_PROTO, EPROTO, "the receiver answers %ld%s%s", status,
		      message ? ": " : "",
		      message ? mr_str_quote(quoted, sizeof(quoted), message) : "");
}

/* --- requests -------------------------------------------------------------- */

enum attempt { DONE, AGAIN, NEVER };

static bool may_try_again(CURLcode code)
{
	switch (code) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:
	case CURLE_OPERATION_TIMEDOUT:
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_PARTIAL_FILE:
		return true;
	default: /* of about a hundred */
		return false;
	}
}

/* One request; *ret: its status. */
static enum attempt attempt(struct mr_sender *sender, long *ret, struct mr_error *err)
{
	CURLcode code;

	sender->size = sender->header_bytes = 0;
	sender->too_large = false;
	sender->why[0] = '\0';
	sender->requests++;
	code = curl_easy_perform(sender->curl);
	if (sender->too_large || code == CURLE_FILESIZE_EXCEEDED) {
		mr_err(err, MR_E_PROTO, EMSGSIZE, "the answer is longer than an answer may be");
		return NEVER;
	}
	if (code != CURLE_OK) {
		mr_err(err, MR_E_SYS, ECONNABORTED, "%s",
		       sender->why[0] ? sender->why : curl_easy_strerror(code));
		return may_try_again(code) ? AGAIN : NEVER;
	}
	mr_assert(curl_easy_getinfo(sender->curl, CURLINFO_RESPONSE_CODE, ret) == CURLE_OK);
	if (*ret != 429 && *ret != 502 && *ret != 503 && *ret != 504)
		return DONE;
	say_refusal(sender, *ret, err);
	return AGAIN;
}

static uint64_t with_jitter(uint64_t ms)
{
	uint32_t random = 0;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return ms;
	return ms + ms * (random % 1000) / 2000; /* up to half more */
}

/* What the receiver asks for, else twice as long each time; negative: longer than anybody waits. */
static int wait_for_retry(struct mr_sender *sender, uint64_t try, struct mr_error *err)
{
	const uint64_t most_s = MR_PATIENCE_S(SEND_RETRY_AFTER_MOST);
	const uint64_t most_ms = MR_PATIENCE_MS(SEND_RETRY_MOST);
	uint64_t ms = sender->wait_ms << (try < 16 ? try : 16);
	curl_off_t asked = 0;

	curl_easy_getinfo(sender->curl, CURLINFO_RETRY_AFTER, &asked);
	if (asked > (curl_off_t)most_s)
		return mr_err_wrap(err, -ECONNABORTED,
				   "it asks for %lld seconds, at most %ju are waited",
				   (long long)asked, (uintmax_t)most_s);
	ms = asked > 0 ? (uint64_t)asked * 1000 : with_jitter(ms < most_ms ? ms : most_ms);
	mr_clock_sleep(mr_now_ns() + ms * 1000000);
	return 0;
}

/* Statuses that are about this body and not about us. */
static bool is_about_body(long status)
{
	return status == 400 || status == 413 || status == 422;
}

int mr_sender_post(struct mr_sender *sender, const char *path, const char *body, size_t size,
		   uint64_t *ret_rejected, struct mr_error *err)
{
	mr_auto_free char *url = mr_str_format("%s%s", sender->endpoint, path);
	enum attempt result;
	long status = 0;

	*ret_rejected = 0;
	SET(CURLOPT_URL, url);
	SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
	SET(CURLOPT_POSTFIELDS, body);
	for (uint64_t try = 0;; try++) {
		result = attempt(sender, &status, err);
		if (result != AGAIN)
			break;
		if (try == sender->retries || wait_for_retry(sender, try, err) < 0)
			return mr_err_wrap(err, -ECONNABORTED, "given up after %llu tries",
					   (unsigned long long)try + 1);
	}
	if (result == NEVER)
		return -EPROTO;
	if (status == 200)
		return judge_success(sender, ret_rejected, err);
	say_refusal(sender, status, err);
	return is_about_body(status) ? MR_SEND_REFUSED : -EPROTO;
}
