// The floor of Web Push: what OpenSSL alone takes to encrypt messages for a browser (RFC 8291, RFC 8188), each with a
// key pair and a salt of its own: two operations on P-256, HKDF twice, AES-128-GCM.
//
//   encrypt COUNT BYTES    prints the seconds of processor time

#include <openssl/ec.h>
#include <openssl/ecdh.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/obj_mac.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void hmac(const unsigned char *key, size_t length, const unsigned char *text, size_t size, unsigned char *out) {
    HMAC(EVP_sha256(), key, (int)length, text, size, out, NULL);
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    long messages = atol(arguments[1]);
    int size = atoi(arguments[2]);
    unsigned char *text = calloc(1, (size_t)size), *sealed = malloc((size_t)size + 16);
    EC_KEY *browser = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);
    EC_KEY_generate_key(browser);
    const EC_GROUP *group = EC_KEY_get0_group(browser);
    unsigned char secret[16], theirs[65], ours[65], agreed[32], prk[32], ikm[32], salt[16], key[32], nonce[32];
    RAND_bytes(secret, sizeof secret);
    EC_POINT_point2oct(group, EC_KEY_get0_public_key(browser), POINT_CONVERSION_UNCOMPRESSED, theirs, 65, NULL);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    clock_t start = clock();
    for (long left = messages; left > 0; left--) {
        EC_KEY *pair = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);
        EC_POINT *point = EC_POINT_new(group);
        if (!EC_KEY_generate_key(pair) || !EC_POINT_oct2point(group, point, theirs, 65, NULL)) return 1;
        EC_POINT_point2oct(group, EC_KEY_get0_public_key(pair), POINT_CONVERSION_UNCOMPRESSED, ours, 65, NULL);
        if (ECDH_compute_key(agreed, 32, point, pair, NULL) != 32) return 1;
        EC_POINT_free(point);
        EC_KEY_free(pair);
        RAND_bytes(salt, sizeof salt);
        unsigned char info[14 + 130 + 1] = "WebPush: info";
        memcpy(info + 14, theirs, 65);
        memcpy(info + 79, ours, 65);
        info[144] = 1;
        hmac(secret, 16, agreed, 32, prk);
        hmac(prk, 32, info, sizeof info, ikm);
        hmac(salt, 16, ikm, 32, prk);
        hmac(prk, 32, (const unsigned char *)"Content-Encoding: aes128gcm\0\1", 29, key);
        hmac(prk, 32, (const unsigned char *)"Content-Encoding: nonce\0\1", 25, nonce);
        int length, rest;
        if (!EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), NULL, key, nonce)
            || !EVP_EncryptUpdate(context, sealed, &length, text, size)
            || !EVP_EncryptFinal_ex(context, sealed + length, &rest)
            || !EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, 16, sealed + size)) return 1;
    }
    printf("%.3f\n", (double)(clock() - start) / CLOCKS_PER_SEC);
    return 0;
}
