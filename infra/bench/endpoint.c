// `health` in C: the floor of an endpoint's start-up. Reads an event, the configuration file and
// version.json, looks for delivery.json, and answers.

#include "files.h"
#include <jansson.h>

static json_t *document(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    char *text = contents(path);
    return text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
}

int main(void) {
    char input[65536];
    size_t length = 0;
    ssize_t got;
    while ((got = read(0, input + length, sizeof input - length)) > 0) length += got;
    json_t *event = json_loadb(input, length, JSON_REJECT_DUPLICATES, NULL);
    const char *path = json_string_value(json_object_get(event, "path"));
    contents(getenv("TURNSTONE_CONFIG"));
    const char *state = getenv("TURNSTONE_STATE");
    json_t *version = document(state, "version.json");
    int is_well = path && strcmp(path, "/health") == 0 && version && !document(state, "delivery.json");
    json_t *answer = json_pack(
        "{s:i,s:{s:s,s:s,s:s},s:s,s:b}", "statusCode", is_well ? 200 : 500, "headers", "content-type",
        "application/json", "cache-control", "no-store", "x-content-type-options", "nosniff", "body",
        is_well ? "{\"status\":\"ok\"}" : "{}", "isBase64Encoded", 0);
    char *text = json_dumps(answer, JSON_COMPACT);
    size_t size = strlen(text);
    text[size] = '\n';
    return write(1, text, size + 1) < 0;
}
