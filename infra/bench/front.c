// `front` in C: looks into the request that a connection brings without taking it, or into what a runner of functions
// hands over, which it gives on; and becomes the program of its path, which lies in the same folder.

#define _GNU_SOURCE
#include "events.h"
#include "files.h"
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

static const char *programs[] = {
    "health", "generate-api-key", "rotate-api-key", "api-keys", "register", "check", "diagnostics", "users-by-token"};

static char input[100000];

// An event's path. Standard input begins anew with what was taken.
static const char *event_path(void) {
    size_t length = rest_of_input(input, 0, sizeof input);
    int copy = memfd_create("input", MFD_CLOEXEC);
    if (copy < 0 || pwrite(copy, input, length, 0) != (ssize_t)length || dup2(copy, 0) != 0) fail("input");
    json_t *event = json_loadb(input, length, JSON_REJECT_DUPLICATES, NULL);
    return json_string_value(event_member(event, "rawPath", "__ow_path"));
}

// The path of the request line that is in the socket, which is left there.
static const char *socket_path(void) {
    struct pollfd arrival = {.fd = 0, .events = POLLIN};
    if (poll(&arrival, 1, 10000) <= 0) return NULL;
    ssize_t got = recv(0, input, sizeof input - 1, MSG_PEEK);
    if (got <= 0) return NULL;
    input[got] = 0;
    char *path = strchr(input, ' '), *end = path ? strpbrk(path + 1, " ?") : NULL;
    if (!end) return NULL;
    *end = 0;
    return path + 1;
}

int main(void) {
    struct stat status;
    if (fstat(0, &status) != 0) fail("input");
    const char *target = getenv("Http_Path");
    if (!target) target = S_ISSOCK(status.st_mode) ? socket_path() : event_path();
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0) fail("/proc/self/exe");
    path[length] = 0;
    for (size_t i = 0; target && i < sizeof programs / sizeof *programs; i++) {
        if (target[0] != '/' || strcmp(target + 1, programs[i]) != 0) continue;
        snprintf(strrchr(path, '/') + 1, 64, "%s", programs[i]);
        execv(path, (char *[]){path, NULL});
        fail(path);
    }
    return 1;
}
