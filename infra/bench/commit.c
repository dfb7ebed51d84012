// The floor of a commit: write, fsync, rename, fsync of the folder, without lock or JSON.
//
//   commit FOLDER COUNT [anew] NUMBER    commits COUNT times to a document of 800 bytes of its own, or to as many

#include "files.h"

int main(int count, char **arguments) {
    if (count != 4 && count != 5) return 2;
    char folder[4000], text[800], name[40] = "document.json";
    snprintf(folder, sizeof folder, "%s/%s", arguments[1], arguments[count - 1]);
    mkdir(arguments[1], 0700);
    mkdir(folder, 0700);
    memset(text, 'x', sizeof text);
    for (long left = atol(arguments[2]); left > 0; left--) {
        snprintf(text, sizeof text, "%ld", left);
        if (count == 5) snprintf(name, sizeof name, "%ld.json", left);
        replace(folder, name, text, sizeof text);
    }
    return 0;
}
