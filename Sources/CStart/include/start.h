// The arguments of this process, which Embedded Swift does not keep.
#ifndef TURNSTONE_CSTART_H
#define TURNSTONE_CSTART_H

// The words of the command line, the program's name first, then NULL; NULL if they are not known.
char **cstart_words(void);

#endif
