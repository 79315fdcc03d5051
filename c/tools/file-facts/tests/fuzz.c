/* Damaged calls and contents for the readers of tool-file-facts, under sanitizers. The arguments
 * are a number of rounds and a seed. Whatever the readers are given: no access beyond it, and a
 * text is read as it was written. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../content.h"
#include "../json.h"
#include "../sha256.h"

static uint64_t state = 0x9e3779b97f4a7c15u;

static unsigned random_below(unsigned bound) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)(state % bound);
}

static void fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

/* A copy that ends where its memory does, so that a sanitizer sees a step beyond it. */
static char *exact(const char *text, size_t length) {
  char *copy = malloc(length == 0 ? 1 : length);
  if (copy == NULL)
    fail("malloc");
  memcpy(copy, text, length);
  return copy;
}

static void read_all(const char *text, size_t length) {
  char *copy = exact(text, length);
  struct json_value key;
  struct json_value value;
  char word[64];
  long number;
  if (json_member(copy, length, "path", &value) == 0) {
    size_t at = 0;
    size_t start = 0;
    while (start < length && copy[start] != '{')
      start++;
    while (json_next(copy + start, length - start, &at, &key, &value)) {
      json_text(key, word, sizeof word);
      json_text(value, word, sizeof word);
      json_whole(value, &number);
    }
  }
  free(copy);
}

static void damage_calls(unsigned rounds) {
  static const char *const calls[] = {
      "{\"data\":\"{\\\"path\\\":\\\"a\\\"}\",\"log_path\":null}",
      "{\"path\":\"\\ud83d\\ude00\\u00e9\",\"limit\":10,\"x\":[1.5e3,{\"y\":[true,false]}]}",
      " { \"path\" : \"\xc3\xa9\xf0\x9f\x98\x80\" , \"hash\" : false , \"path\" : \"b\" } ",
      "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
  };
  for (unsigned round = 0; round < rounds; round++) {
    char text[256];
    const char *call = calls[random_below(sizeof calls / sizeof calls[0])];
    size_t length = strlen(call);
    memcpy(text, call, length);
    for (unsigned each = random_below(4); each > 0; each--)
      text[random_below((unsigned)length)] = (char)random_below(256);
    read_all(text, random_below((unsigned)length + 1));
    read_all(text, length);
  }
}

static void write_and_read(unsigned rounds) {
  for (unsigned round = 0; round < rounds; round++) {
    char text[32];
    unsigned length = random_below(sizeof text);
    for (unsigned each = 0; each < length; each++)
      text[each] = (char)(1 + random_below(255));
    text[length] = 0;
    struct json_out out = {0};
    json_put(&out, "{\"t\":");
    json_put_text(&out, text);
    json_put(&out, "}");
    struct json_value value;
    char back[128];
    if (out.failed || json_member(out.text, out.length, "t", &value) < 0 ||
        json_text(value, back, sizeof back) < 0)
      fail("a text that was written cannot be read");
    int sound = 1;
    for (unsigned at = 0; at < length && sound;) {
      size_t size = utf8_length((const unsigned char *)text + at, length - at);
      sound = size > 0;
      at += (unsigned)size;
    }
    if (sound && strcmp(back, text) != 0)
      fail("a text was read otherwise than it was written");
    free(out.text);
  }
}

static void damage_contents(unsigned rounds) {
  static const char *const starts[] = {"\x7f"
                                       "ELF\x02\x01\x01",
                                       "#!/bin/sh\n", "\x89PNG\r\n\x1a\n", "\xc3\xa9t\xc3", "MZ"};
  for (unsigned round = 0; round < rounds; round++) {
    char bytes[300];
    const char *start = starts[random_below(sizeof starts / sizeof starts[0])];
    size_t length = random_below(sizeof bytes);
    for (size_t each = 0; each < length; each++)
      bytes[each] = (char)random_below(256);
    size_t known = strlen(start) < length ? strlen(start) : length;
    memcpy(bytes, start, known);
    char *copy = exact(bytes, length);
    char words[96];
    content_kind((unsigned char *)copy, length, (int)random_below(2), words, sizeof words);
    if (words[0] == 0)
      fail("a content has no kind");
    free(copy);
  }
}

/* FIPS 180-4's examples, and that pieces make no difference. */
static void check_hashes(void) {
  static const struct {
    const char *text;
    const char *hash;
  } known[] = {
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
  };
  for (size_t each = 0; each < sizeof known / sizeof known[0]; each++)
    for (size_t step = 1; step < 70; step++) {
      struct sha256 hash;
      char hex[65];
      size_t length = strlen(known[each].text);
      sha256_begin(&hash);
      for (size_t at = 0; at < length; at += step)
        sha256_add(&hash, known[each].text + at, length - at < step ? length - at : step);
      sha256_end(&hash, hex);
      if (strcmp(hex, known[each].hash) != 0)
        fail("a hash is wrong");
    }
}

int main(int argc, char **argv) {
  unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 10000;
  if (argc > 2)
    state = strtoull(argv[2], NULL, 10) | 1; /* never 0, which would stay */
  check_hashes();
  damage_calls(rounds);
  write_and_read(rounds);
  damage_contents(rounds);
  return 0;
}
