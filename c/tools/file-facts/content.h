/* What a file holds, by its first bytes. */
#ifndef FILE_FACTS_CONTENT_H
#define FILE_FACTS_CONTENT_H

#include <stddef.h>

/* How many bytes content_kind wants to see, if there are as many. */
#define CONTENT_BYTES 8192

/* A few words, such as "ELF 64-bit x86-64 executable", "PNG image" or "UTF-8 text". `whole` says
 * that these are all bytes of the file. Written into `out`. */
void content_kind(const unsigned char *bytes, size_t length, int whole, char *out, size_t room);

#endif
