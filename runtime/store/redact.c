/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Redaction
 */
#include "runtime/store/redact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"

#define REPLACED "[redacted]"

static const char *const secrets[] = {
	"password",   "passwd",	     "passphrase",  "secret",	     "token",
	"apikey",     "api-key",     "api_key",	    "credential",    "access-key",
	"access_key", "private-key", "private_key", "authorization", "cookie",
};

static bool names_secret(const char *name, size_t size)
{
	mr_auto_free char *copy = mr_str_ndup(name, size);

	for (size_t i = 0; i < N_ELEMENTS(secrets); i++)
		if (strcasestr(copy, secrets[i]))
			return true;
	return false;
}

bool mr_redact_is_secret(const char *name)
{
	return names_secret(name, strlen(name));
}

/* scheme://user:PASSWORD@host: where the password begins and how long it is; 0: there is none. */
static size_t find_url_password(const char *arg, const char **ret)
{
	const char *begin = strstr(arg, "://");
	const char *at, *colon;

	if (!begin)
		return 0;
	begin += 3;
	at = memchr(begin, '@', strcspn(begin, "/?#"));
	colon = at ? memchr(begin, ':', (size_t)(at - begin)) : NULL;
	if (!colon)
		return 0;
	*ret = colon + 1;
	return (size_t)(at - colon - 1);
}

/* NAME=VALUE, --name=VALUE or "Name: VALUE", where the name is a secret's. */
static bool name_ends_value(const char *arg, size_t name)
{
	return (arg[name] == '=' || arg[name] == ':') && arg[name + 1] != '\0' &&
	       names_secret(arg, name);
}

/* malloc'd copy without secrets; *ret_next: the next argument is one. */
static char *redact(const char *arg, bool *ret_next)
{
	size_t name = strcspn(arg, "=: ");
	const char *password = NULL;
	size_t size;

	*ret_next = false;
	if (name_ends_value(arg, name))
		return mr_str_format("%.*s%s", (int)(name + 1), arg, REPLACED);
	if (arg[0] == '-' && arg[name] == '\0' && names_secret(arg, name))
		*ret_next = true;
	size = find_url_password(arg, &password);
	if (size > 0)
		return mr_str_format("%.*s%s%s", (int)(password - arg), arg, REPLACED,
				     password + size);
	return mr_str_dup(arg);
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
