/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pynames: the names that a Python file imports, decorates with and sets as constants
 *
 * Not a parser but the lexer of one: it knows strings, comments, brackets and
 * continued lines, and of each statement looks at its beginning.  That is enough
 * for hints, needs no interpreter, and no text can do more than give odd names.
 */
#include "runtime/scenario/pynames.h"

#include <stdbool.h>
#include <string.h>

enum token_kind { TOKEN_END, TOKEN_NEWLINE, TOKEN_NAME, TOKEN_OTHER };

struct token {
	enum token_kind kind;
	const char *text; /* NAME; OTHER: one character */
	size_t n, line;
};

struct lexer {
	const char *at, *end;
	size_t line;
	unsigned int depth; /* of brackets */
};

struct names {
	struct lexer lexer;
	mr_pynames_fn *fn;
	void *owner;
};

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || (unsigned char)c >= 0x80;
}

static bool has(const struct lexer *l, const char *text)
{
	size_t n = strlen(text);

	return (size_t)(l->end - l->at) >= n && memcmp(l->at, text, n) == 0;
}

/* Behind a string whose opening quote is next. */
static void skip_string(struct lexer *l)
{
	const char quote = *l->at;
	const char three[] = { quote, quote, quote, '\0' };
	const bool is_long = has(l, three);

	l->at += is_long ? 3 : 1;
	while (l->at < l->end) {
		if (is_long ? has(l, three) : *l->at == quote) {
			l->at += is_long ? 3 : 1;
			return;
		}
		if (!is_long && *l->at == '\n')
			return; /* was never closed */
		if (*l->at == '\\' && l->at + 1 < l->end)
			l->at++;
		l->line += *l->at == '\n';
		l->at++;
	}
}

/* Spaces, comments, strings, continued lines, and ends of lines within brackets. */
static void skip_nothing(struct lexer *l)
{
	while (l->at < l->end) {
		if (*l->at == '"' || *l->at == '\'') {
			skip_string(l);
		} else if (*l->at == '#') {
			while (l->at < l->end && *l->at != '\n')
				l->at++;
		} else if (has(l, "\\\n") || (*l->at == '\n' && l->depth > 0)) {
			l->at += *l->at == '\\' ? 2 : 1;
			l->line++;
		} else if (*l->at == ' ' || *l->at == '\t' || *l->at == '\r' || *l->at == '\f') {
			l->at++;
		} else {
			return;
		}
	}
}

static struct token next_token(struct lexer *l)
{
	struct token token;

	skip_nothing(l);
	token = (struct token){ .kind = TOKEN_END, .text = l->at, .n = 1, .line = l->line };
	if (l->at == l->end)
		return token;
	if (is_name_char(*l->at)) {
		token.kind = TOKEN_NAME;
		while (l->at < l->end && is_name_char(*l->at))
			l->at++;
		token.n = (size_t)(l->at - token.text);
		return token;
	}
	token.kind = TOKEN_OTHER;
	if (*l->at == '\n' || (*l->at == ';' && l->depth == 0))
		token.kind = TOKEN_NEWLINE;
	l->line += *l->at == '\n';
	if (strchr("([{", *l->at) && *l->at)
		l->depth++;
	else if (strchr(")]}", *l->at) && *l->at && l->depth > 0)
		l->depth--;
	l->at++;
	return token;
}

static bool is_word(const struct token *token, const char *word)
{
	return token->kind == TOKEN_NAME && token->n == strlen(word) &&
	       memcmp(token->text, word, token->n) == 0;
}

static bool is_char(const struct token *token, char c)
{
	return token->kind == TOKEN_OTHER && *token->text == c;
}

static bool is_over(const struct token *token)
{
	return token->kind == TOKEN_NEWLINE || token->kind == TOKEN_END;
}

static void tell(const struct names *names, enum mr_pynames_kind kind, const struct token *token)
{
	names->fn(kind, token->text, token->n, token->line, names->owner);
}

static bool is_import(const struct token *token)
{
	return is_word(token, "import") || is_word(token, "from");
}

/* All names up to the end of the statement. */
static struct token take_import(struct names *names)
{
	struct token token = next_token(&names->lexer);

	for (; !is_over(&token); token = next_token(&names->lexer))
		if (token.kind == TOKEN_NAME && !is_import(&token) && !is_word(&token, "as"))
			tell(names, MR_PYNAMES_IMPORT, &token);
	return token;
}

/* "name.name.name", not what is in brackets behind it. */
static struct token take_decorator(struct names *names)
{
	struct token token = next_token(&names->lexer);

	while (token.kind == TOKEN_NAME || is_char(&token, '.')) {
		if (token.kind == TOKEN_NAME)
			tell(names, MR_PYNAMES_DECORATOR, &token);
		token = next_token(&names->lexer);
	}
	return token;
}

static bool is_constant(const struct token *token)
{
	bool letters = false;

	for (size_t i = 0; i < token->n; i++) {
		if ((token->text[i] >= 'a' && token->text[i] <= 'z') ||
		    (unsigned char)token->text[i] >= 0x80)
			return false;
		letters |= token->text[i] >= 'A' && token->text[i] <= 'Z';
	}
	return letters;
}

/* "NAME =" or "NAME: type". */
static struct token take_constant(struct names *names, const struct token *name)
{
	const struct token next = next_token(&names->lexer);
	const bool is_equality = names->lexer.at < names->lexer.end && *names->lexer.at == '=';

	if (is_char(&next, ':') || (is_char(&next, '=') && !is_equality))
		tell(names, MR_PYNAMES_CONSTANT, name);
	return next;
}

static struct token take_statement(struct names *names, struct token token)
{
	bool behind_colon = false;

	if (is_import(&token))
		return take_import(names);
	if (is_char(&token, '@'))
		token = take_decorator(names);
	else if (token.kind == TOKEN_NAME && is_constant(&token))
		token = take_constant(names, &token);
	/* "if x: import y" */
	for (; !is_over(&token); token = next_token(&names->lexer)) {
		if (behind_colon && is_import(&token))
			return take_import(names);
		behind_colon = names->lexer.depth == 0 && is_char(&token, ':');
	}
	return token;
}

void mr_pynames_each(const char *text, size_t size, mr_pynames_fn *fn, void *owner)
{
	struct names names = { .lexer = { .at = text, .end = text + size, .line = 1 },
			       .fn = fn,
			       .owner = owner };
	struct token token;

	do {
		token = next_token(&names.lexer);
		if (!is_over(&token))
			token = take_statement(&names, token);
	} while (token.kind != TOKEN_END);
}
