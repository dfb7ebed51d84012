// A long line to a near server: passes TCP connections on, each byte so many milliseconds after it came, both
// ways. Prints its port. What HTTP/2 and TLS wait for is late as on a real line; TCP itself is not.
//
//   delay MILLISECONDS PORT

#define _GNU_SOURCE  // ppoll
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static long delay;  // nanoseconds

struct piece {
    struct piece *next;
    long due;
    ssize_t size;
    char bytes[];
};

// One way through a connection, with what is under way on it.
struct way {
    int from, to, open;
    struct piece *first, **last;
};

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void take(struct way *way) {
    static char bytes[1 << 18];
    ssize_t size = read(way->from, bytes, sizeof bytes);
    if (size <= 0) way->open = size = 0;
    struct piece *piece = malloc(sizeof *piece + size);
    if (piece == NULL) exit(1);
    *piece = (struct piece){.due = now() + delay, .size = size};
    memcpy(piece->bytes, bytes, size);
    *way->last = piece;
    way->last = &piece->next;
}

// Gives on what has been under way for long enough; a piece without bytes is the end.
static void give(struct way *way) {
    while (way->first != NULL && way->first->due <= now()) {
        struct piece *piece = way->first;
        if (piece->size == 0) shutdown(way->to, SHUT_WR);
        for (ssize_t sent = 0, more; sent < piece->size; sent += more) {
            more = write(way->to, piece->bytes + sent, piece->size - sent);
            if (more <= 0) exit(0);
        }
        way->first = piece->next;
        if (way->first == NULL) way->last = &way->first;
        free(piece);
    }
}

static void pass(int near, int far) {
    struct way ways[2] = {{.from = near, .to = far, .open = 1}, {.from = far, .to = near, .open = 1}};
    for (int i = 0; i < 2; i++) ways[i].last = &ways[i].first;
    while (ways[0].open || ways[1].open || ways[0].first || ways[1].first) {
        struct pollfd places[2];
        long due = now() + 1000000000L;
        for (int i = 0; i < 2; i++) {
            places[i] = (struct pollfd){.fd = ways[i].open ? ways[i].from : -1, .events = POLLIN};
            if (ways[i].first && ways[i].first->due < due) due = ways[i].first->due;
        }
        long left = due - now();
        struct timespec wait = {.tv_nsec = left < 0 ? 0 : left > 999999999 ? 999999999 : left};
        ppoll(places, 2, &wait, NULL);
        for (int i = 0; i < 2; i++) {
            if (places[i].revents) take(&ways[i]);
            give(&ways[i]);
        }
    }
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    delay = atol(arguments[1]) * 1000000;
    signal(SIGCHLD, SIG_IGN);
    struct sockaddr_in near = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in far = near;
    far.sin_port = htons(atoi(arguments[2]));
    socklen_t size = sizeof near;
    int door = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (bind(door, (struct sockaddr *)&near, size) || listen(door, 16)) return 1;
    getsockname(door, (struct sockaddr *)&near, &size);
    printf("%d\n", ntohs(near.sin_port));
    fflush(stdout);
    for (int guest; (guest = accept(door, NULL, NULL)) >= 0; close(guest)) {
        if (fork() != 0) continue;
        int host = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(host, (struct sockaddr *)&far, sizeof far)) return 1;
        setsockopt(guest, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        setsockopt(host, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        pass(guest, host);
        return 0;
    }
    return 1;
}
