// `register` in C, as a CGI program, for one HTTP request on standard input, as an inetd hands over, or as runners of
// functions ask: the floor of a registration that is renewed. It does what `strace` shows of ours:
// reads the configuration, the version, the key's and the token's document; then, under the user's
// lock, reads the user's document, changes it and commits.

#define _GNU_SOURCE
#include "events.h"
#include "files.h"
#include <jansson.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <time.h>

static void hash(const char *text, char hex[65]) {
    unsigned char digest[SHA256_DIGEST_LENGTH];
    SHA256_CTX context;
    SHA256_Init(&context);
    SHA256_Update(&context, text, strlen(text));
    SHA256_Final(digest, &context);
    for (int i = 0; i < SHA256_DIGEST_LENGTH; i++) sprintf(hex + 2 * i, "%02x", digest[i]);
}

static json_t *document(const char *path) {
    char *text = contents(path);
    json_t *value = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    free(text);
    return value;
}

static json_t *stored(const char *state, const char *shelf, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s/%.2s/%s.json", state, shelf, name, name);
    return document(path);
}

static enum { cgi, inetd, event } host;

static int answer(int status, const char *body) {
    switch (host) {
    case cgi: printf("Status: %d\r\n", status); break;
    case inetd:
        printf("HTTP/1.1 %d -\r\nContent-Length: %zu\r\nConnection: close\r\n", status, strlen(body) + 1);
        break;
    case event: return answer_event(status, body);
    }
    printf(
        "Content-Type: application/json\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n\r\n%s\n", body);
    fflush(stdout);
    if (host == cgi) return 0;
    char rest[4096];
    shutdown(1, SHUT_WR);
    struct pollfd input = {.fd = 0, .events = POLLIN};
    while (poll(&input, 1, 1000) > 0 && read(0, rest, sizeof rest) > 0) {}
    return 0;
}

// Where a header field's value begins.
static char *field(char *head, const char *name) {
    char *place = strcasestr(head, name);
    return place ? place + strlen(name) : NULL;
}

// An event: what is in `buffer`, and the rest of standard input. Returns the body.
static const char *event_request(char *buffer, size_t have, size_t size, const char **key, size_t *length) {
    host = event;
    json_t *members = json_loadb(buffer, rest_of_input(buffer, have, size), JSON_REJECT_DUPLICATES, NULL);
    const char *body = json_string_value(event_member(members, "body", "__ow_body"));
    *key = json_string_value(json_object_get(event_member(members, "headers", "__ow_headers"), "x-api-key"));
    if (!body || !*key) return NULL;
    *length = strlen(body);
    if (!json_object_get(members, "__ow_body")) return body;
    int padding = *length < 2 ? 0 : (body[*length - 1] == '=') + (body[*length - 2] == '=');
    int decoded = *length * 3 / 4 < size ? EVP_DecodeBlock((unsigned char *)buffer, (const void *)body, *length) : -1;
    *length = decoded - padding;
    return decoded < 0 ? NULL : buffer;
}

// Takes a request's head and its body from standard input, and returns where the body begins.
static const char *request(char *buffer, size_t size, const char **key, size_t *length) {
    size_t have = 0;
    host = inetd;
    char *end = NULL, *text;
    while (!end || have < (size_t)(end - buffer) + *length) {
        struct pollfd input = {.fd = 0, .events = POLLIN};
        if (have == size - 1 || poll(&input, 1, 10000) <= 0) return NULL;
        ssize_t got = read(0, buffer + have, size - 1 - have);
        if (got <= 0) return NULL;
        have += got;
        buffer[have] = 0;
        if (buffer[0] == '{') return event_request(buffer, have, size, key, length);
        if (end || !(end = strstr(buffer, "\r\n\r\n"))) continue;
        end += 4;
        *length = (text = field(buffer, "\r\nContent-Length: ")) ? atol(text) : 0;
        if (*length > 65536 || !(*key = field(buffer, "\r\nX-API-Key: "))) return NULL;
    }
    (*(char **)key)[strcspn(*key, "\r")] = 0;
    return end;
}

// The same from OpenFaaS' watchdogs.
static const char *watchdog_request(char *buffer, size_t size, const char **key, size_t *length) {
    host = event;
    *key = getenv("Http_X_Api_Key");
    *length = rest_of_input(buffer, 0, size);
    return *key ? buffer : NULL;
}

// The same from CGI variables.
static const char *cgi_request(char *buffer, size_t size, const char **key, size_t *length) {
    const char *text = getenv("CONTENT_LENGTH");
    host = cgi;
    *key = getenv("HTTP_X_API_KEY");
    *length = text ? atol(text) : 0;
    size_t have = 0;
    if (!*key || *length >= size) return NULL;
    while (have < *length) {
        ssize_t got = read(0, buffer + have, *length - have);
        if (got <= 0) return NULL;
        have += got;
    }
    return buffer;
}

// The state folder, from the configuration file's first line.
static const char *configured_state(void) {
    char *text = contents(getenv("TURNSTONE_CONFIG"));
    char *state = text ? strstr(text, "TURNSTONE_STATE=") : NULL;
    if (!state) exit(1);
    state += strlen("TURNSTONE_STATE=");
    state[strcspn(state, "\n")] = 0;
    return state;
}

// The line of a document, 16 bytes, in a lock file's first level: the page that its key says, without the file's beginning.
static uint64_t *line(uint64_t *words, uint64_t key) {
    uint64_t *first = words + key % 8 * 64;
    for (int place = first == words ? 4 : 0; place < 64; place += 2)
        if (first[place] == key || first[place] == 0) return first + place;
    exit(1);
}

static void renew(const char *state, const char *user, const char *token) {
    char digest[65], folder[4000], name[100], path[4096];
    uint64_t words[512] = {0};
    hash(user, digest);
    snprintf(folder, sizeof folder, "%s/users/%.2s", state, digest);
    snprintf(name, sizeof name, "%s.json", user);
    snprintf(path, sizeof path, "%s/locks/users/%.3s.lock", state, digest);
    int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX) != 0) fail(path);
    if (pread(lock, words, sizeof words, 0) < 0) fail(path);
    char digits[17] = "";
    memcpy(digits, digest + 3, 16);
    uint64_t *known = line(words, strtoull(digits, NULL, 16));

    snprintf(path, sizeof path, "%s/%s", folder, name);
    json_t *members = document(path), *device;
    json_int_t revision = json_integer_value(json_object_get(members, "revision"));
    if (!members || revision < (json_int_t)known[1]) exit(1);
    json_object_set_new(members, "revision", json_integer(revision + 1));
    size_t index;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    json_array_foreach(json_object_get(members, "devices"), index, device) {
        if (strcmp(json_string_value(json_object_get(device, "token")), token) == 0)
            json_object_set_new(
                device, "registered_at",
                json_integer(now.tv_sec * 1000LL + now.tv_nsec / 1000000));
    }
    char *text = json_dumps(members, JSON_COMPACT);
    replace(folder, name, text, strlen(text));
    known[0] = strtoull(digits, NULL, 16);
    known[1] = revision + 1;
    if (pwrite(lock, known, 16, (known - words) * 8) != 16) fail("lock");
    close(lock);
}

int main(void) {
    static char buffer[100000];
    char digest[65], path[4096];
    const char *key = NULL;
    size_t have = 0;
    const char *body = getenv("GATEWAY_INTERFACE") ? cgi_request(buffer, sizeof buffer, &key, &have)
        : getenv("Http_Method") ? watchdog_request(buffer, sizeof buffer, &key, &have)
                                : request(buffer, sizeof buffer, &key, &have);
    if (!body) return answer(400, "{}");
    const char *state = configured_state();
    snprintf(path, sizeof path, "%s/version.json", state);
    json_t *version = document(path);
    hash(key, digest);
    json_t *owner = stored(state, "keys", digest);
    json_t *members = json_loadb(body, have, JSON_REJECT_DUPLICATES, NULL);
    const char *user = json_string_value(json_object_get(members, "user_id"));
    const char *token = json_string_value(json_object_get(members, "device_token"));
    if (!version || !owner || !user || !token) return answer(401, "{}");
    if (strcmp(user, json_string_value(json_object_get(owner, "owner"))) != 0) return answer(403, "{}");
    hash(token, digest);
    if (!stored(state, "tokens", digest)) return answer(500, "{}");
    renew(state, user, token);
    return answer(200, "{\"status\":\"registered\"}");
}
