// Starts a program several times at once, and prints the seconds until the last has ended and the processor
// seconds that all took together. A program that is given arguments gets its number as one more.
//
//   crowd NUMBER PROGRAM [ARGUMENT...]

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

int main(int count, char **arguments) {
    if (count < 3) return 2;
    int number = atoi(arguments[1]);
    char **words = calloc(count, sizeof(char *)), text[12];
    for (int i = 2; i < count; i++) words[i - 2] = arguments[i];
    if (count > 3) words[count - 2] = text;
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int i = 1; i <= number; i++) {
        pid_t id;
        snprintf(text, sizeof text, "%d", i);
        if (posix_spawn(&id, arguments[2], NULL, NULL, words, environ) != 0) return 1;
    }
    int status, failed = 0;
    while (wait(&status) > 0) failed |= status;
    clock_gettime(CLOCK_MONOTONIC, &end);
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    printf(
        "%.6f %.6f\n", end.tv_sec - start.tv_sec + (end.tv_nsec - start.tv_nsec) / 1e9,
        usage.ru_utime.tv_sec + usage.ru_stime.tv_sec
            + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
    return failed != 0;
}
