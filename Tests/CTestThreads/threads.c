// More threads for the tests.
//
// Swift runs all tasks on as many threads as there are processors. Most tests wait for a program that they have
// started, so that the processors were idle for half of the time. Here what the runtime
// would hand to those threads runs on two threads a processor, and one more.
//
// `swift_task_enqueueGlobal_hook` and `swift_job_run` are the Swift runtime's (Concurrency.h). Without them the tests
// run as they did, only for longer.

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct Job Job;

/// Where a job runs: no particular actor if both are 0.
typedef struct {
    void *identity;
    uintptr_t implementation;
} Executor;

typedef __attribute__((swiftcall)) void (*Original)(Job *);
typedef __attribute__((swiftcall)) void (*Hook)(Job *, Original);

struct Entry {
    Job *job;
    struct Entry *next;
};

static __attribute__((swiftcall)) void (*runJob)(Job *, Executor);
static struct Entry *first;
static struct Entry **end = &first;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t hasJob = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *work(void *unused) {
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&mutex);
        while (first == NULL) pthread_cond_wait(&hasJob, &mutex);
        struct Entry *entry = first;
        first = entry->next;
        if (first == NULL) end = &first;
        pthread_mutex_unlock(&mutex);
        runJob(entry->job, (Executor){NULL, 0});
        free(entry);
    }
}

static void startThreads(void) {
    long count = 2 * sysconf(_SC_NPROCESSORS_ONLN) + 1;
    for (long i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, NULL) != 0) abort();
        pthread_detach(thread);
    }
}

static __attribute__((swiftcall)) void enqueue(Job *job, Original original) {
    (void)original;
    pthread_once(&once, startThreads);
    struct Entry *entry = malloc(sizeof *entry);
    if (entry == NULL) abort();
    *entry = (struct Entry){job, NULL};
    pthread_mutex_lock(&mutex);
    *end = entry;
    end = &entry->next;
    pthread_cond_signal(&hasJob);
    pthread_mutex_unlock(&mutex);
}

__attribute__((constructor)) static void takeJobs(void) {
    Hook *hook = dlsym(RTLD_DEFAULT, "swift_task_enqueueGlobal_hook");
    runJob = dlsym(RTLD_DEFAULT, "swift_job_run");
    if (hook != NULL && runJob != NULL) *hook = enqueue;
}
