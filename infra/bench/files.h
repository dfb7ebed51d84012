// What every commit of ours does, in C: the floor that Sources/Store is held against.
#ifndef BENCH_FILES_H
#define BENCH_FILES_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void fail(const char *what) {
    perror(what);
    exit(1);
}

// The whole file, ended by NUL; NULL where there is none.
static inline char *contents(const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return NULL;
    struct stat status;
    if (fstat(file, &status) != 0) fail(path);
    char *text = malloc(status.st_size + 1);
    ssize_t length = read(file, text, status.st_size);
    if (length < 0) fail(path);
    text[length] = 0;
    close(file);
    return text;
}

// Writes a file beside the old one, and puts it in its place durably.
static inline void replace(const char *folder, const char *name, const char *text, size_t length) {
    char path[4096], new_path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(new_path, sizeof new_path, "%s/%s.new", folder, name);
    int file = open(new_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) fail(new_path);
    if (write(file, text, length) != (ssize_t)length || fsync(file) != 0) fail(new_path);
    close(file);
    if (rename(new_path, path) != 0) fail(path);
    int place = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (place < 0 || fsync(place) != 0) fail(folder);
    close(place);
}

#endif
