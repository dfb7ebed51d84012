// `register` in C, as a CGI program: the floor of a registration that is renewed. It does what `strace` shows of
// ours: reads the configuration, the version, the key's and the token's document; then, under the
// user's lock, reads the user's document, changes it and commits.

#include "files.h"
#include <jansson.h>
#include <openssl/sha.h>
#include <sys/file.h>
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

static int answer(int status, const char *body) {
    printf(
        "Status: %d\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n\r\n%s\n", status, body);
    return 0;
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

static void renew(const char *state, const char *user, const char *token) {
    char digest[65], folder[4000], name[100], path[4096], number[21] = "";
    hash(user, digest);
    snprintf(folder, sizeof folder, "%s/users/%.2s", state, digest);
    snprintf(name, sizeof name, "%s.json", user);
    snprintf(path, sizeof path, "%s/%s.lock", folder, name);
    int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX) != 0) fail(path);
    if (pread(lock, number, 20, 0) < 0) fail(path);

    snprintf(path, sizeof path, "%s/%s", folder, name);
    json_t *members = document(path), *device;
    json_int_t revision = json_integer_value(json_object_get(members, "revision"));
    if (!members || revision < atoll(number)) exit(1);
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
    snprintf(number, sizeof number, "%020lld", (long long)revision + 1);
    if (pwrite(lock, number, 20, 0) != 20) fail("lock");
    close(lock);
}

int main(void) {
    const char *key = getenv("HTTP_X_API_KEY"), *length = getenv("CONTENT_LENGTH");
    char body[65537], digest[65], path[4096];
    size_t wanted = length ? atol(length) : 0, have = 0;
    if (!key || wanted >= sizeof body) return answer(400, "{}");
    while (have < wanted) {
        ssize_t got = read(0, body + have, wanted - have);
        if (got <= 0) return answer(400, "{}");
        have += got;
    }
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
