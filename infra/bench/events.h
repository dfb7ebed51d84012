// JSON events, in C, as runners of functions hand them over.
#ifndef BENCH_EVENTS_H
#define BENCH_EVENTS_H

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Reads standard input to its end behind the `have` bytes of the buffer; how many there are then.
static inline size_t rest_of_input(char *buffer, size_t have, size_t size) {
    ssize_t got;
    while (have < size - 1 && (got = read(0, buffer + have, size - 1 - have)) > 0) have += got;
    buffer[have] = 0;
    return have;
}

// API Gateway's name for a member, or OpenWhisk's.
static inline json_t *event_member(json_t *event, const char *name, const char *other) {
    json_t *value = json_object_get(event, name);
    return value ? value : json_object_get(event, other);
}

static inline int answer_event(int status, const char *body) {
    json_t *answer = json_pack(
        "{s:i,s:{s:s,s:s,s:s},s:s,s:b}", "statusCode", status, "headers", "content-type", "application/json",
        "cache-control", "no-store", "x-content-type-options", "nosniff", "body", body, "isBase64Encoded", 0);
    char *text = json_dumps(answer, JSON_COMPACT);
    size_t size = strlen(text);
    text[size] = '\n';
    return write(1, text, size + 1) < 0;
}

#endif
