#ifndef TURNSTONE_CJANSSON_H
#define TURNSTONE_CJANSSON_H
#include <jansson.h>

// json_typeof and json_is_true are macros; json_decref is inline over atomics that Swift imports, kept here for symmetry.
static inline json_type cjansson_typeof(const json_t *json) { return json_typeof(json); }
static inline int cjansson_is_true(const json_t *json) { return json_is_true(json); }
// In Swift the function json_error_code would have the name of its own result's type.
static inline int cjansson_error_code(const json_error_t *error) { return (int)json_error_code(error); }
static inline void cjansson_decref(json_t *json) { json_decref(json); }

#endif
