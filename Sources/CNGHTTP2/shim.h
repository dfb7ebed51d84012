#ifndef TURNSTONE_CNGHTTP2_H
#define TURNSTONE_CNGHTTP2_H
// fd_set has one shape with _GNU_SOURCE and another without, and Swift refuses to import both. Nothing here needs
// it, so this door leaves it out, and goes together with all other modules.
#define _SYS_SELECT_H 1
#include <nghttp2/nghttp2.h>
#endif
