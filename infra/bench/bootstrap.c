// `bootstrap` in C: takes one event after the other from Lambda's Runtime API, and starts the handler, which lies in
// the same folder, with each.

#define _GNU_SOURCE
#include "files.h"
#include <arpa/inet.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

extern char **environ;

static struct sockaddr_in server = {.sin_family = AF_INET};

// One request over a connection of its own; the length of its answer, which ends with the connection.
static size_t ask(const char *head, const char *body, size_t length, char *answer, size_t size) {
    int peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (peer < 0 || connect(peer, (struct sockaddr *)&server, sizeof server) != 0) exit(0);
    if (write(peer, head, strlen(head)) < 0 || (length > 0 && write(peer, body, length) < 0)) fail("Runtime API");
    size_t have = 0;
    ssize_t got;
    while (have < size - 1 && (got = read(peer, answer + have, size - 1 - have)) > 0) have += got;
    answer[have] = 0;
    close(peer);
    return have;
}

// Starts the handler with an event; a descriptor of what it has printed.
static int handle(const char *path, const char *event, size_t length) {
    int input = memfd_create("event", MFD_CLOEXEC), output = memfd_create("answer", MFD_CLOEXEC), status;
    if (input < 0 || output < 0 || pwrite(input, event, length, 0) != (ssize_t)length) fail("event");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    pid_t id;
    if (posix_spawn(&id, path, &actions, NULL, (char *[]){(char *)path, NULL}, environ) != 0) fail(path);
    if (waitpid(id, &status, 0) != id || status != 0) fail(path);
    posix_spawn_file_actions_destroy(&actions);
    close(input);
    return output;
}

int main(void) {
    static char event[100000], answer[100000], acceptance[4096];
    char path[4096], head[500], id[129];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0) fail("/proc/self/exe");
    path[length] = 0;
    snprintf(strrchr(path, '/') + 1, 64, "%s", getenv("_HANDLER"));
    char *port = strchr(getenv("AWS_LAMBDA_RUNTIME_API"), ':');
    server.sin_port = htons(atoi(port + 1));
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setenv("TURNSTONE_DELIVER", "external", 1);
    while (1) {
        snprintf(head, sizeof head, "GET /2018-06-01/runtime/invocation/next HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        size_t have = ask(head, NULL, 0, event, sizeof event);
        char *body = strstr(event, "\r\n\r\n"), *field = strcasestr(event, "\r\nLambda-Runtime-Aws-Request-Id: ");
        if (!body || !field || sscanf(strchr(field, ':'), ": %128s", id) != 1) return 0;
        int output = handle(path, body + 4, event + have - body - 4);
        length = pread(output, answer, sizeof answer, 0);
        close(output);
        snprintf(
            head, sizeof head,
            "POST /2018-06-01/runtime/invocation/%s/response HTTP/1.1\r\nHost: localhost\r\n"
            "Connection: close\r\nContent-Length: %zd\r\n\r\n",
            id, length);
        ask(head, answer, length, acceptance, sizeof acceptance);
    }
}
