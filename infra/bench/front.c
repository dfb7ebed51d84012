// `front` in C: looks into the request that a connection brings without taking it, and becomes the program of its path,
// which lies in the same folder.

#define _GNU_SOURCE
#include "files.h"
#include <poll.h>
#include <sys/socket.h>

static const char *programs[] = {
    "health", "generate-api-key", "rotate-api-key", "api-keys", "register", "check", "diagnostics", "users-by-token"};

int main(void) {
    char line[65536], path[4096], method[17], target[4096];
    struct pollfd input = {.fd = 0, .events = POLLIN};
    if (poll(&input, 1, 10000) <= 0) return 1;
    ssize_t got = recv(0, line, sizeof line - 1, MSG_PEEK);
    if (got <= 0) return 1;
    line[got] = 0;
    if (sscanf(line, "%16s /%4095[^/? ]", method, target) != 2) return 1;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0) fail("/proc/self/exe");
    path[length] = 0;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (strcmp(target, programs[i]) != 0) continue;
        snprintf(strrchr(path, '/') + 1, 64, "%s", programs[i]);
        execv(path, (char *[]){path, NULL});
        fail(path);
    }
    return 1;
}
