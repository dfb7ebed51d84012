#ifndef TURNSTONE_CCURL_H
#define TURNSTONE_CCURL_H
#include <curl/curl.h>

// curl_easy_setopt, curl_easy_getinfo and curl_multi_setopt are variadic.
static inline CURLcode ccurl_setopt_long(CURL *easy, CURLoption option, long value) { return curl_easy_setopt(easy, option, value); }
static inline CURLcode ccurl_setopt_text(CURL *easy, CURLoption option, const char *value) { return curl_easy_setopt(easy, option, value); }
static inline CURLcode ccurl_setopt_pointer(CURL *easy, CURLoption option, void *value) { return curl_easy_setopt(easy, option, value); }
static inline CURLcode ccurl_setopt_write(CURL *easy, CURLoption option, curl_write_callback value) { return curl_easy_setopt(easy, option, value); }
static inline CURLcode ccurl_setopt_read(CURL *easy, curl_read_callback value) { return curl_easy_setopt(easy, CURLOPT_READFUNCTION, value); }
static inline CURLcode ccurl_setopt_seek(CURL *easy, curl_seek_callback value) { return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, value); }
static inline CURLcode ccurl_setopt_opener(CURL *easy, curl_opensocket_callback value) { return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, value); }
static inline CURLcode ccurl_setopt_closer(CURL *easy, curl_closesocket_callback value) { return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, value); }
static inline CURLcode ccurl_setopt_context(CURL *easy, curl_ssl_ctx_callback value) { return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, value); }
static inline CURLcode ccurl_getinfo_long(CURL *easy, CURLINFO info, long *value) { return curl_easy_getinfo(easy, info, value); }
static inline CURLMcode ccurl_multi_setopt_long(CURLM *multi, CURLMoption option, long value) { return curl_multi_setopt(multi, option, value); }
// A message's verdict sits in a union.
static inline CURLcode ccurl_message_result(const CURLMsg *message) { return message->data.result; }

#endif
