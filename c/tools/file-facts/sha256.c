#include "sha256.h"

#include <string.h>

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t ROUND[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turned(uint32_t word, int by) { return word >> by | word << (32 - by); }

static void add_block(struct sha256 *hash, const unsigned char *block) {
  uint32_t words[64];
  for (int at = 0; at < 16; at++)
    words[at] = (uint32_t)block[4 * at] << 24 | (uint32_t)block[4 * at + 1] << 16 |
                (uint32_t)block[4 * at + 2] << 8 | block[4 * at + 3];
  for (int at = 16; at < 64; at++) {
    uint32_t early = words[at - 15];
    uint32_t late = words[at - 2];
    words[at] = words[at - 16] + (turned(early, 7) ^ turned(early, 18) ^ early >> 3) +
                words[at - 7] + (turned(late, 17) ^ turned(late, 19) ^ late >> 10);
  }
  uint32_t v[8];
  memcpy(v, hash->state, sizeof v);
  for (int at = 0; at < 64; at++) {
    uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
    uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
    uint32_t first = v[7] + (turned(v[4], 6) ^ turned(v[4], 11) ^ turned(v[4], 25)) + choice +
                     ROUND[at] + words[at];
    uint32_t second = (turned(v[0], 2) ^ turned(v[0], 13) ^ turned(v[0], 22)) + majority;
    memmove(v + 1, v, 7 * sizeof v[0]);
    v[4] += first;
    v[0] = first + second;
  }
  for (int at = 0; at < 8; at++)
    hash->state[at] += v[at];
}

void sha256_begin(struct sha256 *hash) {
  /* The same of the square roots of the first 8. */
  static const uint32_t START[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memcpy(hash->state, START, sizeof START);
  hash->length = 0;
}

void sha256_add(struct sha256 *hash, const void *bytes, size_t length) {
  const unsigned char *at = bytes;
  while (length > 0) {
    size_t held = (size_t)(hash->length % sizeof hash->held);
    size_t taken = sizeof hash->held - held < length ? sizeof hash->held - held : length;
    memcpy(hash->held + held, at, taken);
    hash->length += taken;
    at += taken;
    length -= taken;
    if (held + taken == sizeof hash->held)
      add_block(hash, hash->held);
  }
}

void sha256_end(struct sha256 *hash, char hex[65]) {
  static const char digits[] = "0123456789abcdef";
  uint64_t bits = hash->length * 8;
  unsigned char last[8];
  for (int at = 0; at < 8; at++)
    last[at] = (unsigned char)(bits >> (56 - 8 * at));
  sha256_add(hash, "\x80", 1);
  while (hash->length % 64 != 56)
    sha256_add(hash, "", 1);
  sha256_add(hash, last, sizeof last);
  for (int at = 0; at < 32; at++) {
    unsigned char byte = (unsigned char)(hash->state[at / 4] >> (24 - 8 * (at % 4)));
    hex[2 * at] = digits[byte >> 4];
    hex[2 * at + 1] = digits[byte & 15];
  }
  hex[64] = 0;
}
