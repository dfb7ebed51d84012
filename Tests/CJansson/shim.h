#ifndef TURNSTONE_CJANSSON_H
#define TURNSTONE_CJANSSON_H
#include <jansson.h>

// Macros and inline functions over atomics, which Swift does not import.
static inline json_type cjansson_typeof(const json_t *json) { return json_typeof(json); }
static inline void cjansson_decref(json_t *json) { json_decref(json); }

#endif
