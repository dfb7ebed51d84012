// `health` in C: the floor of an endpoint's start-up. Reads an event, the configuration file and
// version.json, looks for delivery.json, and answers.

#include "events.h"
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
    json_t *event = json_loadb(input, rest_of_input(input, 0, sizeof input), JSON_REJECT_DUPLICATES, NULL);
    const char *path = json_string_value(json_object_get(event, "path"));
    contents(getenv("TURNSTONE_CONFIG"));
    const char *state = getenv("TURNSTONE_STATE");
    json_t *version = document(state, "version.json");
    int is_well = path && strcmp(path, "/health") == 0 && version && !document(state, "delivery.json");
    return answer_event(is_well ? 200 : 500, is_well ? "{\"status\":\"ok\"}" : "{}");
}
