#include "start.h"

#include <features.h>  // __GLIBC__

static char **words;

// glibc gives constructors the arguments of main. Elsewhere this is not so, hence the check.
__attribute__((constructor)) static void keep(int count, char **list) {
#ifdef __GLIBC__
    if (count > 0) words = list;
#else
    (void)count, (void)list;
#endif
}

char **cstart_words(void) { return words; }
