#ifndef TURNSTONE_CZLIB_H
#define TURNSTONE_CZLIB_H
#include <zlib.h>

// Macros that check the library's version.
static inline int czlib_inflate_init(z_stream *stream, int bits) { return inflateInit2(stream, bits); }
static inline int czlib_deflate_init(z_stream *stream, int bits) { return deflateInit2(stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY); }

#endif
