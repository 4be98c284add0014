/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secret
 *
 * What is long enough to mean one thing is found anywhere in a name.  What is short ("key", "pass") is in
 * many other words, so it has to be a word of the name.
 */
#include "runtime/base/secret.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/str.h"

static const char *const anywhere[] = {
	"password",   "passwd",	     "passphrase",  "secret",	     "token",
	"apikey",     "api-key",     "api_key",	    "credential",    "access-key",
	"access_key", "private-key", "private_key", "authorization", "cookie",
};

static const char *const words[] = {
	"key",	   "keys",    "pass",	"passes",    "passcode",   "passkey",	 "pwd",
	"creds",   "jwt",     "dbpass", "userpass",  "rootpass",   "sshkey",	 "authkey",
	"privkey", "hostkey", "appkey", "accesskey", "privatekey", "sessionkey", "masterkey",
};

bool mr_secret_is_in(const char *text, size_t size)
{
	mr_auto_free char *copy = mr_str_ndup(text, size);

	for (size_t i = 0; i < N_ELEMENTS(anywhere); i++)
		if (strcasestr(copy, anywhere[i]))
			return true;
	return false;
}

enum kind { OTHER, LOWER, UPPER };

static enum kind kind_of(char c)
{
	if (c >= 'a' && c <= 'z')
		return LOWER;
	return c >= 'A' && c <= 'Z' ? UPPER : OTHER;
}

/* From the first letter of a word: its letters.  "APIKey" is "API" and "Key". */
static size_t word_length(const char *name)
{
	size_t n = 1;

	while (kind_of(name[n]) == UPPER && kind_of(name[0]) == UPPER &&
	       kind_of(name[n + 1]) != LOWER)
		n++;
	if (n > 1)
		return n;
	while (kind_of(name[n]) == LOWER)
		n++;
	return n;
}

static bool is_word(const char *word, size_t n)
{
	for (size_t i = 0; i < N_ELEMENTS(words); i++)
		if (strlen(words[i]) == n && strncasecmp(words[i], word, n) == 0)
			return true;
	return false;
}

bool mr_secret_is_name(const char *name)
{
	size_t n;

	if (mr_secret_is_in(name, strlen(name)))
		return true;
	for (const char *p = name; *p; p += n) {
		n = 1;
		if (kind_of(*p) == OTHER)
			continue;
		n = word_length(p);
		if (is_word(p, n))
			return true;
	}
	return false;
}
