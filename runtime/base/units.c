/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units
 *
 * A text is read in three steps: a decimal number (whole part and fraction kept
 * apart as integers), a unit looked up in the table of its grammar, and the
 * scaling in 128 bits.  strtod is not used: it follows the locale and accepts
 * signs, exponents, hexadecimal, "inf" and "nan", each of which would turn a
 * typing error into a limit.
 */
#include "runtime/base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"

__extension__ typedef unsigned __int128 u128;

/* 10^26 times the largest scale (2^40) still fits in 128 bits. */
#define FRACTION_DIGITS 26

struct unit {
	const char *suffix;
	uint64_t scale;
};

struct grammar {
	const char *what;
	const char *accepted;
	const struct unit *units; /* ends with a NULL suffix */
};

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)

static const struct unit size_units[] = {
	{ "", 1 },	{ "b", 1 },    { "k", KIB },   { "kb", KIB },  { "ki", KIB },
	{ "kib", KIB }, { "m", MIB },  { "mb", MIB },  { "mi", MIB },  { "mib", MIB },
	{ "g", GIB },	{ "gb", GIB }, { "gi", GIB },  { "gib", GIB }, { "t", TIB },
	{ "tb", TIB },	{ "ti", TIB }, { "tib", TIB }, { NULL, 0 },
};
static const struct unit ms_units[] = {
	{ "", 1 },	  { "ms", 1 },	     { "s", 1000 },	 { "m", 60000 },
	{ "h", 3600000 }, { "d", 86400000 }, { "w", 604800000 }, { NULL, 0 },
};
static const struct unit second_units[] = {
	{ "", 1000 },	  { "ms", 1 },	     { "s", 1000 },	 { "m", 60000 },
	{ "h", 3600000 }, { "d", 86400000 }, { "w", 604800000 }, { NULL, 0 },
};
static const struct unit bandwidth_units[] = {
	{ "", 1 },	     { "bps", 1 },	  { "kbps", 1000 },	  { "kbit", 1000 },
	{ "mbps", 1000000 }, { "mbit", 1000000 }, { "gbps", 1000000000 }, { "gbit", 1000000000 },
	{ NULL, 0 },
};
static const struct unit count_units[] = { { "", 1 }, { NULL, 0 } };
static const struct unit milli_units[] = { { "", 1000 }, { NULL, 0 } };
static const struct unit percent_units[] = { { "", 10000 }, { "%", 10000 }, { NULL, 0 } };

static const struct grammar size_grammar = {
	"a size",
	"a number of bytes, or with a unit b, k, m, g or t (also kb, ki, kib; powers of 1024), as "
	"in 512Mi or 1.5g",
	size_units,
};
static const struct grammar ms_grammar = {
	"a time",
	"a number of milliseconds, or with a unit ms, s, m, h, d or w, as in 500ms or 2m",
	ms_units,
};
static const struct grammar second_grammar = {
	"a time",
	"a number of seconds, or with a unit ms, s, m, h, d or w, as in 1.5, 500ms or 2m",
	second_units,
};
static const struct grammar bandwidth_grammar = {
	"a bandwidth",
	"1 bit/s to 10 Gbit/s, bare or with a unit kbps, mbps, gbps, kbit, mbit or gbit, as in "
	"100kbps",
	bandwidth_units,
};
static const struct grammar count_grammar = {
	"a whole number",
	"decimal digits, as in 64",
	count_units,
};
static const struct grammar milli_grammar = {
	"a decimal number",
	"digits with an optional fraction, as in 2 or 0.5",
	milli_units,
};
static const struct grammar percent_grammar = {
	"a percentage",
	"0 to 100, with an optional %, as in 5% or 0.1",
	percent_units,
};
static const struct grammar id_grammar = {
	"an id",
	"decimal digits, 0 to 4294967294",
	count_units,
};
static const struct grammar flag_grammar = {
	"a flag",
	"1 true t yes y on, or 0 false f no n off",
	NULL,
};

/* A decimal number: whole + fraction / 10^digits. */
struct decimal {
	uint64_t whole;
	u128 fraction;
	u128 power; /* 10^digits */
};

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int refuse(const struct grammar *g, const char *text, const char *why, struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];

	return mr_err(err, MR_E_USAGE, EINVAL, "%s is not %s: %s; accepted: %s",
		      mr_str_quote(quoted, sizeof(quoted), text), g->what, why, g->accepted);
}

/* Why a text that does not begin with a number does not. */
static const char *why_no_number(const char *p)
{
	if (*p == '\0')
		return "it is empty";
	if (*p == '-')
		return "it is negative";
	if (*p == '+')
		return "a sign is not accepted";
	return "it is not a number";
}

/* Reads digits; NULL and a reason if there are none or they overflow. */
static const char *read_decimal(const char *p, struct decimal *ret, const char **ret_why)
{
	*ret = (struct decimal){ .power = 1 };
	if (!is_digit(*p) && !(*p == '.' && is_digit(p[1]))) {
		*ret_why = why_no_number(p);
		return NULL;
	}
	for (; is_digit(*p); p++) {
		if (__builtin_mul_overflow(ret->whole, 10, &ret->whole) ||
		    __builtin_add_overflow(ret->whole, (uint64_t)(*p - '0'), &ret->whole)) {
			*ret_why = "it is too large";
			return NULL;
		}
	}
	if (*p != '.' || !is_digit(p[1]))
		return p;
	size_t digits = 0;
	for (p++; is_digit(*p); p++) {
		if (digits++ >= FRACTION_DIGITS)
			continue; /* below what any scale can make whole */
		ret->fraction = ret->fraction * 10 + (u128)(*p - '0');
		ret->power *= 10;
	}
	return p;
}

/* The unit that makes up exactly the text from p to end. */
static const struct unit *find_unit(const struct unit *units, const char *p, const char *end)
{
	char word[8];
	size_t n = (size_t)(end - p);

	if (n >= sizeof(word))
		return NULL;
	memcpy(word, p, n);
	word[n] = '\0';
	for (; units->suffix; units++)
		if (mr_str_equal_nocase(units->suffix, word) && strlen(units->suffix) == n)
			return units;
	return NULL;
}

static int refuse_unit(const struct grammar *g, const char *text, const char *unit, size_t n,
		       struct mr_error *err)
{
	char quoted[32];
	char why[64];
	char *copy;

	if (!g->units[1].suffix)
		return refuse(g, text, "something follows the number", err);
	copy = mr_str_ndup(unit, n);
	snprintf(why, sizeof(why), "unknown unit %s", mr_str_quote(quoted, sizeof(quoted), copy));
	mr_freep(&copy);
	return refuse(g, text, why, err);
}

static int parse_number(const struct grammar *g, const char *text, bool trim, uint64_t *ret,
			struct mr_error *err)
{
	const char *end = text + strlen(text);
	const char *p = text;
	const char *why = NULL;
	const struct unit *unit;
	struct decimal number;
	u128 scaled;

	while (trim && is_space(*p))
		p++;
	while (trim && end > p && is_space(end[-1]))
		end--;
	p = read_decimal(p, &number, &why);
	if (!p)
		return refuse(g, text, why, err);
	unit = find_unit(g->units, p, end);
	if (!unit)
		return refuse_unit(g, text, p, (size_t)(end - p), err);
	scaled = (u128)number.whole * unit->scale + number.fraction * unit->scale / number.power;
	if (scaled > INT64_MAX)
		return refuse(g, text, "it is too large", err);
	*ret = (uint64_t)scaled;
	return 0;
}

/* The grammars of whole numbers share read_decimal, so a fraction must be caught first. */
static int parse_digits(const struct grammar *g, const char *text, uint64_t *ret,
			struct mr_error *err)
{
	if (is_digit(text[0]) && text[strspn(text, "0123456789")] != '\0')
		return refuse(g, text, "it has more than digits", err);
	if (text[0] == '.' || is_space(text[0]))
		return refuse(g, text, "it has more than digits", err);
	return parse_number(g, text, false, ret, err);
}

int mr_units_parse_size(const char *text, uint64_t *ret_bytes, struct mr_error *err)
{
	return parse_number(&size_grammar, text, true, ret_bytes, err);
}

int mr_units_parse_timespan(const char *text, bool bare_seconds, uint64_t *ret_ms,
			    struct mr_error *err)
{
	return parse_number(bare_seconds ? &second_grammar : &ms_grammar, text, true, ret_ms, err);
}

int mr_units_parse_bandwidth(const char *text, uint64_t *ret_bits, struct mr_error *err)
{
	uint64_t bits = 0;
	int r = parse_number(&bandwidth_grammar, text, true, &bits, err);

	if (r < 0)
		return r;
	if (bits < 1 || bits > UINT64_C(10000000000))
		return refuse(&bandwidth_grammar, text, "it is out of range", err);
	*ret_bits = bits;
	return 0;
}

int mr_units_parse_flag(const char *text, bool *ret, struct mr_error *err)
{
	static const char *const yes[] = { "1", "true", "t", "yes", "y", "on" };
	static const char *const no[] = { "0", "false", "f", "no", "n", "off" };
	char word[8];
	const char *p = text;
	size_t n;

	while (is_space(*p))
		p++;
	n = strlen(p);
	while (n > 0 && is_space(p[n - 1]))
		n--;
	if (n == 0)
		return refuse(&flag_grammar, text, why_no_number(""), err);
	if (n >= sizeof(word))
		return refuse(&flag_grammar, text, "unknown word", err);
	memcpy(word, p, n);
	word[n] = '\0';
	for (size_t i = 0; i < N_ELEMENTS(yes); i++) {
		bool is_yes = mr_str_equal_nocase(word, yes[i]);

		if (!is_yes && !mr_str_equal_nocase(word, no[i]))
			continue;
		*ret = is_yes;
		return 0;
	}
	return refuse(&flag_grammar, text, "unknown word", err);
}

int mr_units_parse_count(const char *text, uint64_t *ret, struct mr_error *err)
{
	return parse_digits(&count_grammar, text, ret, err);
}

int mr_units_parse_milli(const char *text, uint64_t *ret, struct mr_error *err)
{
	return parse_number(&milli_grammar, text, true, ret, err);
}

int mr_units_parse_percent(const char *text, uint64_t *ret_ppm, struct mr_error *err)
{
	uint64_t ppm = 0;
	int r = parse_number(&percent_grammar, text, true, &ppm, err);

	if (r < 0)
		return r;
	if (ppm > 1000000)
		return refuse(&percent_grammar, text, "it is out of range", err);
	*ret_ppm = ppm;
	return 0;
}

int mr_units_parse_id(const char *text, uint64_t *ret, struct mr_error *err)
{
	uint64_t id = 0;
	int r = parse_digits(&id_grammar, text, &id, err);

	if (r < 0)
		return r;
	if (id > UINT32_MAX - 1)
		return refuse(&id_grammar, text, "it is out of range", err);
	*ret = id;
	return 0;
}

/* The largest of units that divides value without a rest; units end with a NULL suffix. */
static const char *print_exact(char *buf, uint64_t value, const struct unit *units)
{
	while (units->scale > 1 && (value == 0 || value % units->scale != 0))
		units++;
	snprintf(buf, MR_UNITS_SIZE, "%" PRIu64 "%s", value / units->scale, units->suffix);
	return buf;
}

const char *mr_units_print_size(char *buf, uint64_t bytes)
{
	static const struct unit units[] = {
		{ "Ti", TIB }, { "Gi", GIB }, { "Mi", MIB }, { "Ki", KIB }, { "", 1 },
	};

	return print_exact(buf, bytes, units);
}

const char *mr_units_print_timespan(char *buf, uint64_t ms)
{
	static const struct unit units[] = {
		{ "d", 86400000 }, { "h", 3600000 }, { "m", 60000 }, { "s", 1000 }, { "ms", 1 },
	};

	return print_exact(buf, ms, units);
}

const char *mr_units_print_bandwidth(char *buf, uint64_t bits)
{
	static const struct unit units[] = {
		{ "gbit", 1000000000 },
		{ "mbit", 1000000 },
		{ "kbit", 1000 },
		{ "", 1 },
	};

	return print_exact(buf, bits, units);
}

/* value / 10^digits, without zeros at the end. */
static const char *print_decimal(char *buf, uint64_t value, int digits)
{
	uint64_t scale = 1;
	size_t n;

	for (int i = 0; i < digits; i++)
		scale *= 10;
	snprintf(buf, MR_UNITS_SIZE, "%" PRIu64 ".%0*" PRIu64, value / scale, digits,
		 value % scale);
	n = strlen(buf);
	while (buf[n - 1] == '0')
		n--;
	if (buf[n - 1] == '.')
		n--;
	buf[n] = '\0';
	return buf;
}

const char *mr_units_print_milli(char *buf, uint64_t thousandths)
{
	return print_decimal(buf, thousandths, 3);
}

const char *mr_units_print_percent(char *buf, uint64_t ppm)
{
	return print_decimal(buf, ppm, 4);
}

/* value / scale with three significant digits, rounded down. */
static const char *print_human(char *buf, uint64_t value, uint64_t scale, const char *suffix)
{
	uint64_t whole = value / scale;
	uint64_t hundredths = (uint64_t)((u128)(value % scale) * 100 / scale);

	if (hundredths == 0 || whole >= 100)
		snprintf(buf, MR_UNITS_SIZE, "%" PRIu64 " %s", whole, suffix);
	else if (whole >= 10 && hundredths < 10)
		snprintf(buf, MR_UNITS_SIZE, "%" PRIu64 " %s", whole, suffix);
	else if (whole >= 10 || hundredths % 10 == 0)
		snprintf(buf, MR_UNITS_SIZE, "%" PRIu64 ".%" PRIu64 " %s", whole, hundredths / 10,
			 suffix);
	else
		snprintf(buf, MR_UNITS_SIZE, "%" PRIu64 ".%02" PRIu64 " %s", whole, hundredths,
			 suffix);
	return buf;
}

const char *mr_units_human_size(char *buf, uint64_t bytes)
{
	static const struct unit units[] = {
		{ "TiB", TIB }, { "GiB", GIB }, { "MiB", MIB }, { "KiB", KIB }, { "B", 1 },
	};
	const struct unit *unit = units;

	while (unit->scale > 1 && bytes < unit->scale)
		unit++;
	return print_human(buf, bytes, unit->scale, unit->suffix);
}

const char *mr_units_human_time(char *buf, uint64_t ns)
{
	static const struct unit units[] = {
		{ "s", 1000000000 },
		{ "ms", 1000000 },
		{ "us", 1000 },
		{ "ns", 1 },
	};
	const struct unit *unit = units;
	uint64_t seconds = ns / 1000000000;

	if (seconds >= 3600)
		snprintf(buf, MR_UNITS_SIZE, "%" PRIu64 " h %" PRIu64 " min", seconds / 3600,
			 seconds / 60 % 60);
	else if (seconds >= 60)
		snprintf(buf, MR_UNITS_SIZE, "%" PRIu64 " min %" PRIu64 " s", seconds / 60,
			 seconds % 60);
	if (seconds >= 60)
		return buf;
	while (unit->scale > 1 && ns < unit->scale)
		unit++;
	return print_human(buf, ns, unit->scale, unit->suffix);
}
