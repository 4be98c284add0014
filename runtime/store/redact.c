/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Redaction
 */
#include "runtime/store/redact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/secret.h"
#include "runtime/base/str.h"

#define REPLACED "[redacted]"

/* Where the password of scheme://user:PASSWORD@host begins, the text being what follows "://", and how
 * long it is; 0: there is none. */
static size_t find_url_password(const char *begin, const char **ret)
{
	size_t size = strcspn(begin, "/?#");
	const char *at = memrchr(begin, '@', size); /* a password may hold one */
	const char *colon = at ? memchr(begin, ':', (size_t)(at - begin)) : NULL;

	if (!colon)
		return 0;
	*ret = colon + 1;
	return (size_t)(at - colon - 1);
}

/* malloc'd copy without the passwords of URLs, of which one argument can hold several. */
static char *redact_urls(const char *arg)
{
	mr_auto_buf struct mr_buf out = { 0 };
	const char *password = NULL;

	for (const char *p = strstr(arg, "://"); p; p = strstr(p, "://")) {
		size_t size;

		p += 3;
		size = find_url_password(p, &password);
		if (size == 0)
			continue;
		mr_buf_addn(&out, arg, (size_t)(password - arg));
		mr_buf_add(&out, REPLACED);
		arg = p = password + size;
	}
	mr_buf_add(&out, arg);
	return mr_take_ptr(out.text);
}

static bool is_secret_name(const char *arg, size_t size)
{
	mr_auto_free char *name = mr_str_ndup(arg, size);

	return mr_secret_is_name(name);
}

/* NAME=VALUE, --name=VALUE or "Name: VALUE", where the name is a secret's. */
static bool name_ends_value(const char *arg, size_t name)
{
	return (arg[name] == '=' || arg[name] == ':') && arg[name + 1] != '\0' &&
	       is_secret_name(arg, name);
}

/* malloc'd copy without secrets; *ret_next: the next argument is one. */
static char *redact(const char *arg, bool *ret_next)
{
	size_t name = strcspn(arg, "=: ");

	*ret_next = false;
	if (name_ends_value(arg, name))
		return mr_str_format("%.*s%s", (int)(name + 1), arg, REPLACED);
	*ret_next = arg[0] == '-' && arg[name] == '\0' && is_secret_name(arg, name);
	return redact_urls(arg);
}

static json_t *text_json(const char *text)
{
	mr_auto_free char *escaped = NULL;
	char *out;

	if (mr_str_utf8_valid(text, strlen(text)))
		return json_string_nocheck(text);
	escaped = out = mr_str_alloc(strlen(text) * 4 + 1);
	for (; *text; text++) {
		if ((unsigned char)*text < 0x80)
			*out++ = *text;
		else
			out += snprintf(out, 5, "\\x%02x", (unsigned char)*text);
	}
	return json_string_nocheck(escaped);
}

struct mr_redacted mr_redact_argv(char *const *argv, size_t n, size_t max_bytes)
{
	struct mr_redacted ret = { .argv = json_array() };
	bool is_secret = false;

	for (size_t i = 0; i < n; i++) {
		mr_auto_free char *kept = NULL;
		bool next = false;

		ret.bytes += strlen(argv[i]) + 1;
		if (ret.bytes > max_bytes) {
			ret.truncated = true;
			continue;
		}
		kept = is_secret ? mr_str_dup(REPLACED) : redact(argv[i], &next);
		is_secret = next;
		json_array_append_new(ret.argv, text_json(kept));
	}
	return ret;
}
