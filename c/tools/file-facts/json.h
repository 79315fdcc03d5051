/* JSON as a native tool meets it: one object in, one object out. Nothing is allocated for reading.
 */
#ifndef FILE_FACTS_JSON_H
#define FILE_FACTS_JSON_H

#include <stddef.h>

/* Nesting beyond this is refused. */
#define JSON_DEEPEST 64

struct json_value {
  const char *at;
  size_t length;
  char kind; /* { [ " t f n 0, the last for a number; 0 for none */
};

/* Looks a member of the object `text` up; of two of one name the last counts. Returns 0, with kind
 * 0 where there is none, or -1 where the text is no JSON object. The whole text is checked. */
int json_member(const char *text, size_t length, const char *name, struct json_value *value);

/* The next member's key and value, for walking an object that json_member accepted. `at` begins as
 * 0 and is kept between calls. Returns 1, or 0 after the last. The key is still escaped. */
int json_next(const char *text, size_t length, size_t *at, struct json_value *key,
              struct json_value *value);

/* Decodes a string into `out` as UTF-8 with a closing NUL. Returns its length, or -1 where it does
 * not fit into `room`, holds a NUL, or half of a surrogate pair. */
long json_text(struct json_value value, char *out, size_t room);

/* A number without fraction or exponent. Returns 0, or -1 where it is none or above a billion. */
int json_whole(struct json_value value, long *out);

/* Output that grows. Where memory is lacking, `failed` is set and stays. */
struct json_out {
  char *text;
  size_t length;
  size_t room;
  int failed;
};

void json_put(struct json_out *out, const char *text);
void json_put_text(struct json_out *out,
                   const char *text); /* quoted; what is no UTF-8 is replaced */
void json_put_number(struct json_out *out, long long number);

/* The length of the UTF-8 sequence at `at`, or 0 where there is no whole and sound one. */
size_t utf8_length(const unsigned char *at, size_t left);

#endif
