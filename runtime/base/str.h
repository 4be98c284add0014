/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings
 *
 * A bounded builder over the caller's buffer, quoting for messages, nearest-name
 * search for hints, and the encodings a result needs.  Only mr_str_dup,
 * mr_str_ndup, mr_str_format, mr_str_alloc, mr_str_grow and mr_str_base64 allocate; out of memory aborts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text being built in somebody else's buffer: always terminated, never overrun. */
struct mr_str {
	char *buf;
	size_t size; /* of buf, with the terminator */
	size_t len; /* without the terminator */
	bool truncated; /* something did not fit; later appends are dropped */
};

/* size must not be 0. */
void mr_str_init(struct mr_str *str, char *buf, size_t size);
void mr_str_add(struct mr_str *str, const char *text);
void mr_str_addn(struct mr_str *str, const char *text, size_t n);
void mr_str_printf(struct mr_str *str, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Text for a message: in double quotes, '"', '\\', control and non-ASCII bytes as escapes, cut
 * to fit in size with "..." after the closing quote.  Returns buf; size is at least 16. */
#define MR_STR_QUOTE_SIZE 80
const char *mr_str_quote(char *buf, size_t size, const char *text);

/* Copies; never NULL. mr_str_ndup stops at a NUL. */
void *mr_str_alloc(size_t size); /* zeroed */
/* An array of *cap elements with n in use, or a longer one with room for one more; what is added is
 * not zeroed.  *cap grows twofold. */
void *mr_str_grow(void *array, size_t n, size_t *cap, size_t element_size);
char *mr_str_dup(const char *text);
char *mr_str_ndup(const char *text, size_t n);
char *mr_str_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

bool mr_str_starts_with(const char *text, const char *prefix);
bool mr_str_ends_with(const char *text, const char *suffix);
/* Without regard to the case of ASCII letters; independent of the locale. */
bool mr_str_equal_nocase(const char *a, const char *b);

/* Is path the folder or something in it, by its text alone?  folder has no trailing slash. */
bool mr_str_is_under(const char *path, const char *folder);

/* Edits (insert, delete, replace, swap neighbours) between a and b, case ignored;
 * SIZE_MAX when either is longer than 64 bytes. */
size_t mr_str_distance(const char *a, const char *b);

/* "Did you mean": offer every known name, then take the nearest one. */
struct mr_str_nearest {
	const char *word;
	const char *best; /* NULL: nothing offered yet is near */
	size_t distance;
};
void mr_str_nearest_init(struct mr_str_nearest *nearest, const char *word);
/* name must outlive the search.  On a tie the first offered wins. */
void mr_str_nearest_offer(struct mr_str_nearest *nearest, const char *name);

/* Undo in place the \ooo escapes of mountinfo and its like; what is no such escape stays. */
void mr_str_unescape_octal(char *text);

/* Well-formed UTF-8: no overlong forms, surrogates or code points over U+10FFFF. */
bool mr_str_utf8_valid(const void *data, size_t size);
/* The character at data: its length in bytes, with its code point in *ret_code; 0 where that is no
 * UTF-8, also for one that does not end within size.  size is over 0. */
size_t mr_str_utf8_next(const void *data, size_t size, uint32_t *ret_code);
/* Does a terminal act on it: controls, and what moves, hides or turns what is around it. */
bool mr_str_acts(uint32_t code);
/* In place: each character that acts on a terminal, but for a tab, and each byte that is no UTF-8
 * becomes one '?'. */
void mr_str_make_printable(char *text);

/* RFC 4648 section 4, with padding; malloc'd. */
char *mr_str_base64(const void *data, size_t size);
/* Lower case; ret must hold 2 * size + 1 bytes. */
void mr_str_hex(const void *data, size_t size, char *ret);
