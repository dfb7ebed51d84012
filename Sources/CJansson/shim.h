#ifndef TURNSTONE_CJANSSON_H
#define TURNSTONE_CJANSSON_H
#include <jansson.h>

// json_typeof and json_is_true are macros; json_decref is inline over atomics that Swift imports, kept here for symmetry.
static inline json_type cjansson_typeof(const json_t *json) { return json_typeof(json); }
static inline int cjansson_is_true(const json_t *json) { return json_is_true(json); }
static inline void cjansson_decref(json_t *json) { json_decref(json); }

#endif
