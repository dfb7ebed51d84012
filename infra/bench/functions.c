// Calls a program as runners of functions do, without pause, with registrations that are renewed.
//
//   functions RUNNER MACHINES SECONDS PLAYERS PROGRAM
//
// RUNNER: `lambda`, by way of the `bootstrap` beside the program; `watchdog`, OpenFaaS'; or `openwhisk`. Each machine
// calls one after the other. A line of PLAYERS is a user, a key and a token. It prints how many calls a second
// were answered with 200, and fails where one was not. What a runner does besides is not done here.

#define _GNU_SOURCE
#include "files.h"
#include <arpa/inet.h>
#include <openssl/evp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

struct player {
    char user[21], key[65], token[65];
};

static struct player players[1000];
static int count;
static char body[500], event[2000], answer[100000];

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void check(void) {
    if (strstr(answer, "\"statusCode\":200")) return;
    fprintf(stderr, "functions: %s\n", answer);
    exit(1);
}

static void describe(const struct player *player) {
    snprintf(body, sizeof body, "{\"user_id\": \"%s\", \"device_token\": \"%s\"}", player->user, player->token);
}

// API Gateway's payload 2.0.
static void describe_api_gateway_event(const struct player *player) {
    char text[600] = "", *end = text;
    describe(player);
    for (const char *byte = body; *byte; byte++) {
        if (*byte == '"') *end++ = '\\';
        *end++ = *byte;
    }
    snprintf(
        event, sizeof event,
        "{\"version\":\"2.0\",\"routeKey\":\"$default\",\"rawPath\":\"/register\",\"rawQueryString\":\"\",\"headers\":"
        "{\"content-type\":\"application/json\",\"x-api-key\":\"%s\"},\"requestContext\":{\"http\":{\"method\":\"POST\","
        "\"path\":\"/register\"}},\"body\":\"%s\",\"isBase64Encoded\":false}",
        player->key, text);
}

// A raw web action's parameters.
static void describe_action(const struct player *player) {
    char text[700];
    describe(player);
    EVP_EncodeBlock((unsigned char *)text, (unsigned char *)body, strlen(body));
    snprintf(
        event, sizeof event,
        "{\"__ow_method\":\"post\",\"__ow_path\":\"/register\",\"__ow_query\":\"\",\"__ow_headers\":"
        "{\"content-type\":\"application/json\",\"x-api-key\":\"%s\"},\"__ow_body\":\"%s\"}",
        player->key, text);
}

// Starts the program with what it is to read; takes what it prints.
static void call(const char *program, const char *text, const char *argument, char **environment) {
    int input[2], output[2], status;
    size_t have = 0, length = strlen(text);
    ssize_t got;
    if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) fail("pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input[0], 0);
    posix_spawn_file_actions_adddup2(&actions, output[1], 1);
    pid_t id;
    char *arguments[] = {(char *)program, (char *)argument, NULL};
    if (posix_spawn(&id, program, &actions, NULL, arguments, environment) != 0) fail(program);
    posix_spawn_file_actions_destroy(&actions);
    close(input[0]);
    close(output[1]);
    if (write(input[1], text, length) != (ssize_t)length) fail(program);
    close(input[1]);
    while (have < sizeof answer - 1 && (got = read(output[0], answer + have, sizeof answer - 1 - have)) > 0) have += got;
    answer[have] = 0;
    close(output[0]);
    if (waitpid(id, &status, 0) != id || status != 0) fail(program);
    check();
}

static void call_watchdog(const char *program, const struct player *player) {
    describe(player);
    char key[100], length[50], *environment[100];
    snprintf(key, sizeof key, "Http_X_Api_Key=%s", player->key);
    snprintf(length, sizeof length, "Http_Content_Length=%zu", strlen(body));
    int i = 0;
    for (; environ[i] && i < 90; i++) environment[i] = environ[i];
    char *own[] = {"Http_Method=POST", "Http_Path=/register", "Http_Content_Type=application/json", key, length, NULL};
    memcpy(environment + i, own, sizeof own);
    call(program, body, NULL, environment);
}

static void call_openwhisk(const char *program, const struct player *player) {
    describe_action(player);
    call(program, event, event, environ);
}

// Serves the next requests of a bootstrap until it has answered an event.
static void call_lambda(int listener, const struct player *player) {
    while (1) {
        size_t have = 0, length = 0;
        char *end = NULL, *field, head[500];
        ssize_t got;
        int peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (peer < 0) fail("accept");
        while (!end || have < (size_t)(end + 4 - answer) + length) {
            if ((got = read(peer, answer + have, sizeof answer - 1 - have)) <= 0) fail("bootstrap");
            answer[have += got] = 0;
            if (!end && (end = strstr(answer, "\r\n\r\n")))
                length = (field = strcasestr(answer, "\r\nContent-Length: ")) ? atol(field + 18) : 0;
        }
        int is_answer = strncmp(answer, "POST", 4) == 0;
        if (is_answer) {
            check();
            snprintf(head, sizeof head, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        } else {
            describe_api_gateway_event(player);
            snprintf(
                head, sizeof head,
                "HTTP/1.1 200 OK\r\nLambda-Runtime-Aws-Request-Id: 8476a536\r\nLambda-Runtime-Deadline-Ms: %lld\r\n"
                "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                (time(NULL) + 30) * 1000LL, strlen(event));
        }
        if (write(peer, head, strlen(head)) < 0) fail("bootstrap");
        if (!is_answer && write(peer, event, strlen(event)) < 0) fail("bootstrap");
        close(peer);
        if (is_answer) return;
    }
}

static int serve(const char *program, pid_t *bootstrap) {
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof place;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&place, size) != 0 || listen(listener, 16) != 0) fail("listen");
    if (getsockname(listener, (struct sockaddr *)&place, &size) != 0) fail("listen");
    char address[50], path[4096];
    const char *name = strrchr(program, '/') + 1;
    snprintf(address, sizeof address, "127.0.0.1:%d", ntohs(place.sin_port));
    snprintf(path, sizeof path, "%.*sbootstrap", (int)(name - program), program);
    setenv("AWS_LAMBDA_RUNTIME_API", address, 1);
    setenv("_HANDLER", name, 1);
    if (posix_spawn(bootstrap, path, NULL, NULL, (char *[]){path, NULL}, environ) != 0) fail(path);
    return listener;
}

// Calls until the time is over; how often.
static long machine(const char *runner, const char *program, int first, double end) {
    int is_lambda = strcmp(runner, "lambda") == 0, is_watchdog = strcmp(runner, "watchdog") == 0;
    pid_t bootstrap = 0;
    int listener = is_lambda ? serve(program, &bootstrap) : -1;
    long calls = 0;
    for (; now() < end; calls++) {
        const struct player *player = &players[(first + calls) % count];
        if (is_lambda) call_lambda(listener, player);
        else if (is_watchdog) call_watchdog(program, player);
        else call_openwhisk(program, player);
    }
    if (is_lambda && (kill(bootstrap, SIGKILL) != 0 || waitpid(bootstrap, NULL, 0) != bootstrap)) fail("bootstrap");
    return calls;
}

int main(int arguments, char **words) {
    if (arguments != 6) return 2;
    int machines = atoi(words[2]), seconds = atoi(words[3]), status, has_failed = 0;
    FILE *list = fopen(words[4], "r");
    if (!list) fail(words[4]);
    while (count < 1000 && fscanf(list, "%20s %64s %64s", players[count].user, players[count].key, players[count].token) == 3)
        count++;
    if (machines < 1 || seconds < 1 || count < machines) return 2;
    long *calls = mmap(NULL, sizeof(long) * machines, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), all = 0;
    double end = now() + seconds;
    for (int number = 0; number < machines; number++) {
        pid_t id = fork();
        if (id < 0) fail("fork");
        if (id > 0) continue;
        calls[number] = machine(words[1], words[5], count / machines * number, end);
        _exit(0);
    }
    while (wait(&status) > 0) has_failed |= status != 0;
    for (int number = 0; number < machines; number++) all += calls[number];
    if (has_failed) return 1;
    printf("%ld\n", all / seconds);
    return 0;
}
