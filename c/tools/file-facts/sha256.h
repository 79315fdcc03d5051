/* SHA-256, FIPS 180-4. */
#ifndef FILE_FACTS_SHA256_H
#define FILE_FACTS_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct sha256 {
  uint32_t state[8];
  uint64_t length; /* bytes so far */
  unsigned char held[64];
};

void sha256_begin(struct sha256 *hash);
void sha256_add(struct sha256 *hash, const void *bytes, size_t length);
void sha256_end(struct sha256 *hash, char hex[65]);

#endif
