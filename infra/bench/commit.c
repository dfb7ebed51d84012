// The floor of a commit: write, fsync, rename, fsync of the folder, without lock or JSON.
//
//   commit FOLDER COUNT NUMBER    commits COUNT times to a document of 800 bytes of its own

#include "files.h"

int main(int count, char **arguments) {
    if (count != 4) return 2;
    char folder[4000], text[800];
    snprintf(folder, sizeof folder, "%s/%s", arguments[1], arguments[3]);
    mkdir(arguments[1], 0700);
    mkdir(folder, 0700);
    memset(text, 'x', sizeof text);
    for (long left = atol(arguments[2]); left > 0; left--) {
        snprintf(text, sizeof text, "%ld", left);
        replace(folder, "document.json", text, sizeof text);
    }
    return 0;
}
