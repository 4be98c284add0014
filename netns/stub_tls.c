/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stub: TLS with an authority of the run's own
 *
 * One key for the authority, one for all servers: they differ in their names, and who has
 * the one has this process's memory anyway.  The certificates have every extension that
 * strict verifiers ask for (RFC 5280: key identifiers on both, key usage on the authority).
 */
#include "netns/stub_tls.h"

#include <errno.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"

#define DAY_S (24L * 3600)
#define CA_DAYS 3650
#define LEAF_DAYS 397
#define COMMON_NAME_MAX 64 /* what X.520 grants; the name that counts is the alternative one */

struct certificate {
	char *host;
	X509 *x509;
};

struct mr_tls {
	EVP_PKEY *ca_key, *server_key;
	X509 *ca;
	char *ca_pem;
	SSL_CTX *context;
	struct certificate *certificates; /* made so far: one a host */
	size_t n, cap;
};

struct mr_tls_session {
	SSL *ssl;
	bool wants_write, failed, is_open;
	const char *why;
};

static int refuse(struct mr_error *err, const char *what)
{
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());

	ERR_clear_error();
	return mr_err(err, MR_E_SYS, EIO, "%s: %s", what, reason ? reason : "OpenSSL failed");
}

/* --- certificates ----------------------------------------------------------------- */

struct extension {
	int nid;
	const char *value;
};

static bool add_extensions(X509 *x509, X509 *issuer, const struct extension *extensions, size_t n)
{
	X509V3_CTX context;

	X509V3_set_ctx(&context, issuer, x509, NULL, NULL, 0);
	for (size_t i = 0; i < n; i++) {
		X509_EXTENSION *extension =
			X509V3_EXT_conf_nid(NULL, &context, extensions[i].nid, extensions[i].value);
		const bool ok = extension && X509_add_ext(x509, extension, -1) == 1;

		X509_EXTENSION_free(extension);
		if (!ok)
			return false;
	}
	return true;
}

static bool set_serial(X509 *x509)
{
	unsigned char bytes[16];
	BIGNUM *number = NULL;
	bool ok = false;

	if (RAND_bytes(bytes, sizeof(bytes)) == 1) {
		bytes[0] = (bytes[0] & 0x7f) | 0x40; /* positive, and always as long */
		number = BN_bin2bn(bytes, sizeof(bytes), NULL);
		ok = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x509)) != NULL;
	}
	BN_free(number);
	return ok;
}

/* Of a day ago, so that a clock that is behind does not matter. */
static bool fill_in(X509 *x509, const char *name, EVP_PKEY *key, long days)
{
	X509_NAME *subject = X509_get_subject_name(x509);

	return X509_set_version(x509, X509_VERSION_3) == 1 && set_serial(x509) &&
	       X509_gmtime_adj(X509_getm_notBefore(x509), -DAY_S) &&
	       X509_gmtime_adj(X509_getm_notAfter(x509), days * DAY_S) &&
	       X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name,
					  -1, -1, 0) == 1 &&
	       X509_set_pubkey(x509, key) == 1;
}

static int make_ca(struct mr_tls *tls, struct mr_error *err)
{
	static const struct extension extensions[] = {
		{ NID_basic_constraints, "critical,CA:TRUE,pathlen:0" },
		{ NID_key_usage, "critical,keyCertSign,cRLSign" },
		{ NID_subject_key_identifier, "hash" },
		{ NID_authority_key_identifier, "keyid:always" },
	};
	BIO *bio = BIO_new(BIO_s_mem());
	char *text = NULL;
	long n = 0;

	tls->ca = X509_new();
	if (bio && tls->ca && fill_in(tls->ca, "menace-run mocks", tls->ca_key, CA_DAYS) &&
	    X509_set_issuer_name(tls->ca, X509_get_subject_name(tls->ca)) == 1 &&
	    add_extensions(tls->ca, tls->ca, extensions, N_ELEMENTS(extensions)) &&
	    X509_sign(tls->ca, tls->ca_key, EVP_sha256()) > 0 &&
	    PEM_write_bio_X509(bio, tls->ca) == 1)
		n = BIO_get_mem_data(bio, &text);
	if (n > 0)
		tls->ca_pem = mr_str_ndup(text, (size_t)n);
	BIO_free(bio);
	return tls->ca_pem ? 0 : refuse(err, "make the authority's certificate");
}

/* What the certificate is of: a name, or an address, which has no brackets there. */
static char *subject_of(const char *host)
{
	if (host[0] == '[')
		return mr_str_format("IP:%.*s", (int)strlen(host) - 2, host + 1);
	return mr_str_format("%s:%s", host[strspn(host, "0123456789.")] == '\0' ? "IP" : "DNS",
			     host);
}

static X509 *make_certificate(struct mr_tls *tls, const char *host)
{
	mr_auto_free char *names = subject_of(host);
	const struct extension extensions[] = {
		{ NID_basic_constraints, "critical,CA:FALSE" },
		{ NID_key_usage, "critical,digitalSignature" },
		{ NID_ext_key_usage, "serverAuth" },
		{ NID_subject_alt_name, names },
		{ NID_subject_key_identifier, "hash" },
		{ NID_authority_key_identifier, "keyid:always" },
	};
	const char *common = strlen(host) <= COMMON_NAME_MAX ? host : "a mocked host";
	X509 *x509 = X509_new();

	if (x509 && fill_in(x509, common, tls->server_key, LEAF_DAYS) &&
	    X509_set_issuer_name(x509, X509_get_subject_name(tls->ca)) == 1 &&
	    add_extensions(x509, tls->ca, extensions, N_ELEMENTS(extensions)) &&
	    X509_sign(x509, tls->ca_key, EVP_sha256()) > 0)
		return x509;
	X509_free(x509);
	return NULL;
}

/* Borrowed; NULL with OpenSSL's error. */
static X509 *find_certificate(struct mr_tls *tls, const char *host)
{
	X509 *made;

	for (size_t i = 0; i < tls->n; i++)
		if (strcmp(tls->certificates[i].host, host) == 0)
			return tls->certificates[i].x509;
	made = make_certificate(tls, host);
	if (!made)
		return NULL;
	tls->certificates =
		mr_str_grow(tls->certificates, tls->n, &tls->cap, sizeof(*tls->certificates));
	tls->certificates[tls->n++] = (struct certificate){ mr_str_dup(host), made };
	return made;
}

/* --- the context ------------------------------------------------------------------- */

/* Who only speaks HTTP/2 is told so at once. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
			   const unsigned char *in, unsigned int in_len, void *arg)
{
	static const unsigned char ours[] = "\x08http/1.1\x08http/1.0";
	unsigned char *chosen;

	(void)ssl;
	(void)arg;
	if (SSL_select_next_proto(&chosen, out_len, ours, sizeof(ours) - 1, in, in_len) !=
	    OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

static int make_context(struct mr_tls *tls, struct mr_error *err)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());

	tls->context = context;
	if (!context || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
	    SSL_CTX_set_num_tickets(context, 0) != 1)
		return refuse(err, "TLS");
	SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET |
					     SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
					  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
					  SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
	return 0;
}

int mr_tls_new(struct mr_tls **ret, struct mr_error *err)
{
	struct mr_tls *tls = mr_str_alloc(sizeof(*tls));
	int r = 0;

	/* No configuration file: nothing on the host decides what is spoken here. */
	if (OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1)
		r = refuse(err, "OpenSSL");
	if (r == 0) {
		tls->ca_key = EVP_EC_gen("P-256");
		tls->server_key = EVP_EC_gen("P-256");
		if (!tls->ca_key || !tls->server_key)
			r = refuse(err, "make a key");
	}
	if (r == 0)
		r = make_ca(tls, err);
	if (r == 0)
		r = make_context(tls, err);
	if (r < 0) {
		mr_tls_free(tls);
		return r;
	}
	*ret = tls;
	return 0;
}

struct mr_tls *mr_tls_free(struct mr_tls *tls)
{
	if (!tls)
		return NULL;
	for (size_t i = 0; i < tls->n; i++) {
		free(tls->certificates[i].host);
		X509_free(tls->certificates[i].x509);
	}
	free(tls->certificates);
	SSL_CTX_free(tls->context);
	X509_free(tls->ca);
	EVP_PKEY_free(tls->ca_key);
	EVP_PKEY_free(tls->server_key);
	free(tls->ca_pem);
	free(tls);
	return NULL;
}

const char *mr_tls_ca_pem(const struct mr_tls *tls)
{
	return tls->ca_pem;
}

/* --- sessions ----------------------------------------------------------------------- */

int mr_tls_session_new(struct mr_tls *tls, int fd, const char *host, struct mr_tls_session **ret,
		       struct mr_error *err)
{
	X509 *certificate = find_certificate(tls, host);
	struct mr_tls_session *session;
	SSL *ssl;

	if (!certificate)
		return refuse(err, "make a certificate");
	ssl = SSL_new(tls->context);
	if (!ssl || SSL_set_fd(ssl, fd) != 1 || SSL_use_certificate(ssl, certificate) != 1 ||
	    SSL_use_PrivateKey(ssl, tls->server_key) != 1) {
		SSL_free(ssl);
		return refuse(err, "TLS");
	}
	session = mr_str_alloc(sizeof(*session));
	session->ssl = ssl;
	session->why = "";
	*ret = session;
	return 0;
}

struct mr_tls_session *mr_tls_session_free(struct mr_tls_session *session)
{
	if (session) {
		SSL_free(session->ssl);
		free(session);
	}
	return NULL;
}

/* What a call that returned r <= 0 means: 0 for the end, or negative errno. */
static int judge(struct mr_tls_session *session, int r)
{
	const char *reason;

	session->wants_write = false;
	switch (SSL_get_error(session->ssl, r)) {
	case SSL_ERROR_WANT_WRITE:
		session->wants_write = true;
		return -EAGAIN;
	case SSL_ERROR_WANT_READ:
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	default:
		break;
	}
	reason = ERR_reason_error_string(ERR_peek_error());
	session->failed = true;
	session->why = reason ? reason : "the connection ended";
	ERR_clear_error();
	return -EPROTO;
}

int mr_tls_handshake(struct mr_tls_session *session)
{
	int r;

	ERR_clear_error();
	r = SSL_accept(session->ssl);
	if (r == 1) {
		session->is_open = true;
		return 1;
	}
	r = judge(session, r);
	if (r == -EAGAIN)
		return 0;
	if (r == 0)
		session->why = "the client said goodbye during the handshake";
	return -EPROTO;
}

ssize_t mr_tls_read(struct mr_tls_session *session, void *buf, size_t size)
{
	size_t n = 0;

	ERR_clear_error();
	return SSL_read_ex(session->ssl, buf, size, &n) == 1 ? (ssize_t)n : judge(session, 0);
}

ssize_t mr_tls_write(struct mr_tls_session *session, const void *buf, size_t size)
{
	size_t n = 0;

	ERR_clear_error();
	if (SSL_write_ex(session->ssl, buf, size, &n) == 1)
		return (ssize_t)n;
	return judge(session, 0) == -EAGAIN ? -EAGAIN : -EPIPE;
}

bool mr_tls_wants_write(const struct mr_tls_session *session)
{
	return session->wants_write;
}

void mr_tls_bye(struct mr_tls_session *session)
{
	if (!session->is_open || session->failed)
		return;
	ERR_clear_error();
	if (SSL_shutdown(session->ssl) < 0)
		ERR_clear_error();
}

const char *mr_tls_why(const struct mr_tls_session *session)
{
	return session->why;
}
