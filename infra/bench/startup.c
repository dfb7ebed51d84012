// Starts programs one after the other, round after round, and compares how long each takes from its start
// to its end. The first is what the others are held against.
//
//   startup ROUNDS INPUT PROGRAM...
//
// A line for each: the median of its times in microseconds, the median of its ratios to the first program's
// time in the same round, and the ratios' quartiles.

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static double run(const char *program, const char *input) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    char *arguments[] = {(char *)program, NULL};
    int status;
    pid_t id;
    double start = now();
    if (posix_spawn(&id, program, &actions, NULL, arguments, environ) != 0) exit(1);
    if (wait4(id, &status, 0, NULL) != id || status != 0) {
        fprintf(stderr, "startup: %s ended with %d\n", program, status);
        exit(1);
    }
    double time = now() - start;
    posix_spawn_file_actions_destroy(&actions);
    return time;
}

static int order(const void *a, const void *b) {
    return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b);
}

int main(int count, char **arguments) {
    if (count < 4) return 2;
    int rounds = atoi(arguments[1]), programs = count - 3;
    double *times = malloc(sizeof(double) * rounds * programs), *column = malloc(sizeof(double) * rounds);
    for (int round = -5; round < rounds; round++)  // the first few only fill the caches
        for (int step = 0; step < programs; step++) {
            // Each round begins with another one, since what comes before a program matters to it.
            int program = (step + round + 5) % programs;
            double time = run(arguments[3 + program], arguments[2]);
            if (round >= 0) times[program * rounds + round] = time;
        }
    for (int program = 0; program < programs; program++) {
        double *own = times + program * rounds;
        for (int round = 0; round < rounds; round++) column[round] = own[round] / times[round];
        qsort(column, rounds, sizeof(double), order);
        printf("%s ", arguments[3 + program]);
        double ratio = column[rounds / 2], low = column[rounds / 4], high = column[rounds * 3 / 4];
        for (int round = 0; round < rounds; round++) column[round] = own[round];
        qsort(column, rounds, sizeof(double), order);
        printf("%.0f %.2f %.2f %.2f\n", column[rounds / 2], ratio, low, high);
    }
    return 0;
}
