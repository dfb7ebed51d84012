#ifndef TURNSTONE_COPENSSL_H
#define TURNSTONE_COPENSSL_H
// fd_set has one shape with _GNU_SOURCE and another without, and Swift refuses to import both. Nothing here needs
// it, so this door leaves it out, and goes together with all other modules.
#define _SYS_SELECT_H 1
// The low-level SHA256_* calls are deprecated in OpenSSL 3.0, but cost no initialisation (1 ms otherwise).
#define OPENSSL_SUPPRESS_DEPRECATED 1
#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#endif
