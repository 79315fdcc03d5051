#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
  const char *at;
  const char *end;
};

static void skip_space(struct reader *reader) {
  while (reader->at < reader->end && *reader->at != 0 && strchr(" \t\r\n", *reader->at) != NULL)
    reader->at++;
}

static int take(struct reader *reader, char wanted) {
  skip_space(reader);
  if (reader->at == reader->end || *reader->at != wanted)
    return 0;
  reader->at++;
  return 1;
}

static int hex(char digit) {
  if (digit >= '0' && digit <= '9')
    return digit - '0';
  if (digit >= 'a' && digit <= 'f')
    return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F')
    return digit - 'A' + 10;
  return -1;
}

size_t utf8_length(const unsigned char *at, size_t left) {
  if (at[0] < 0x80)
    return 1;
  size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
  if (at[0] < 0xc2 || at[0] > 0xf4 || length > left)
    return 0;
  for (size_t each = 1; each < length; each++)
    if ((at[each] & 0xc0) != 0x80)
      return 0;
  /* Too long a form, a surrogate, or beyond the last code point. */
  if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
      (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
    return 0;
  return length;
}

/* From after the opening quote to after the closing one. */
static int skip_string(struct reader *reader) {
  while (reader->at < reader->end) {
    unsigned char byte = (unsigned char)*reader->at;
    size_t left = (size_t)(reader->end - reader->at);
    if (byte == '"') {
      reader->at++;
      return 0;
    }
    if (byte < 0x20)
      return -1;
    if (byte != '\\') {
      size_t length = utf8_length((const unsigned char *)reader->at, left);
      if (length == 0)
        return -1;
      reader->at += length;
      continue;
    }
    if (left < 2 || reader->at[1] == 0 || strchr("\"\\/bfnrtu", reader->at[1]) == NULL)
      return -1;
    if (reader->at[1] == 'u') {
      if (left < 6)
        return -1;
      for (int each = 2; each < 6; each++)
        if (hex(reader->at[each]) < 0)
          return -1;
      reader->at += 4;
    }
    reader->at += 2;
  }
  return -1;
}

static int skip_digits(struct reader *reader) {
  const char *start = reader->at;
  while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9')
    reader->at++;
  return reader->at > start ? 0 : -1;
}

static int skip_number(struct reader *reader) {
  if (*reader->at == '-')
    reader->at++;
  const char *start = reader->at;
  if (skip_digits(reader) < 0 || (*start == '0' && reader->at - start > 1))
    return -1;
  if (reader->at < reader->end && *reader->at == '.') {
    reader->at++;
    if (skip_digits(reader) < 0)
      return -1;
  }
  if (reader->at < reader->end && (*reader->at == 'e' || *reader->at == 'E')) {
    reader->at++;
    if (reader->at < reader->end && (*reader->at == '+' || *reader->at == '-'))
      reader->at++;
    if (skip_digits(reader) < 0)
      return -1;
  }
  return 0;
}

static int skip_word(struct reader *reader, const char *word) {
  size_t length = strlen(word);
  if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0)
    return -1;
  reader->at += length;
  return 0;
}

static int skip_value(struct reader *reader, int depth, struct json_value *value);

static int skip_entries(struct reader *reader, int depth, char closing) {
  if (take(reader, closing))
    return 0;
  do {
    struct json_value ignored;
    if (closing == '}') {
      if (!take(reader, '"') || skip_string(reader) < 0 || !take(reader, ':'))
        return -1;
    }
    if (skip_value(reader, depth, &ignored) < 0)
      return -1;
  } while (take(reader, ','));
  return take(reader, closing) ? 0 : -1;
}

static int skip_value(struct reader *reader, int depth, struct json_value *value) {
  skip_space(reader);
  if (depth > JSON_DEEPEST || reader->at == reader->end)
    return -1;
  char first = *reader->at;
  int done = -1;
  *value = (struct json_value){.at = reader->at, .kind = first};
  if (first == '{' || first == '[') {
    reader->at++;
    done = skip_entries(reader, depth + 1, first == '{' ? '}' : ']');
  } else if (first == '"') {
    reader->at++;
    done = skip_string(reader);
  } else if (first == 't') {
    done = skip_word(reader, "true");
  } else if (first == 'f') {
    done = skip_word(reader, "false");
  } else if (first == 'n') {
    done = skip_word(reader, "null");
  } else if (first == '-' || (first >= '0' && first <= '9')) {
    value->kind = '0';
    done = skip_number(reader);
  }
  value->length = (size_t)(reader->at - value->at);
  return done;
}

int json_next(const char *text, size_t length, size_t *at, struct json_value *key,
              struct json_value *value) {
  struct reader reader = {text + *at, text + length};
  if (!take(&reader, *at == 0 ? '{' : ','))
    return 0;
  if (!take(&reader, '"'))
    return 0;
  *key = (struct json_value){.at = reader.at - 1, .kind = '"'};
  if (skip_string(&reader) < 0)
    return 0;
  key->length = (size_t)(reader.at - key->at);
  if (!take(&reader, ':') || skip_value(&reader, 1, value) < 0)
    return 0;
  *at = (size_t)(reader.at - text);
  return 1;
}

int json_member(const char *text, size_t length, const char *name, struct json_value *value) {
  struct reader reader = {text, text + length};
  struct json_value whole;
  *value = (struct json_value){0};
  if (skip_value(&reader, 0, &whole) < 0 || whole.kind != '{')
    return -1;
  skip_space(&reader);
  if (reader.at != reader.end)
    return -1;
  struct json_value key;
  struct json_value found;
  size_t at = 0;
  while (json_next(whole.at, whole.length, &at, &key, &found)) {
    char word[64];
    if (json_text(key, word, sizeof word) >= 0 && strcmp(word, name) == 0)
      *value = found;
  }
  return 0;
}

static unsigned code_unit(const char *at) {
  unsigned unit = 0;
  for (int each = 0; each < 4; each++)
    unit = unit * 16 + (unsigned)hex(at[each]);
  return unit;
}

static size_t encode(unsigned point, char *out) {
  if (point < 0x80) {
    out[0] = (char)point;
    return 1;
  }
  if (point < 0x800) {
    out[0] = (char)(0xc0 | point >> 6);
    out[1] = (char)(0x80 | (point & 0x3f));
    return 2;
  }
  if (point < 0x10000) {
    out[0] = (char)(0xe0 | point >> 12);
    out[1] = (char)(0x80 | (point >> 6 & 0x3f));
    out[2] = (char)(0x80 | (point & 0x3f));
    return 3;
  }
  out[0] = (char)(0xf0 | point >> 18);
  out[1] = (char)(0x80 | (point >> 12 & 0x3f));
  out[2] = (char)(0x80 | (point >> 6 & 0x3f));
  out[3] = (char)(0x80 | (point & 0x3f));
  return 4;
}

long json_text(struct json_value value, char *out, size_t room) {
  if (value.kind != '"' || value.length < 2 || room == 0)
    return -1;
  const char *at = value.at + 1;
  const char *end = value.at + value.length - 1;
  size_t length = 0;
  while (at < end) {
    char piece[4];
    size_t size = 1;
    piece[0] = *at;
    if (*at == '\\' && at[1] == 'u') {
      unsigned point = code_unit(at + 2);
      at += 6;
      if (point >= 0xd800 && point < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u') {
        unsigned low = code_unit(at + 2);
        if (low < 0xdc00 || low > 0xdfff)
          return -1;
        point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
        at += 6;
      } else if (point >= 0xd800 && point < 0xe000) {
        return -1;
      }
      size = encode(point, piece);
    } else if (*at == '\\') {
      static const char from[] = "\"\\/bfnrt";
      static const char to[] = "\"\\/\b\f\n\r\t";
      piece[0] = to[strchr(from, at[1]) - from];
      at += 2;
    } else {
      at++;
    }
    if (piece[0] == 0 || length + size >= room)
      return -1;
    memcpy(out + length, piece, size);
    length += size;
  }
  out[length] = 0;
  return (long)length;
}

int json_whole(struct json_value value, long *out) {
  char digits[16];
  if (value.kind != '0' || value.length > 10)
    return -1;
  memcpy(digits, value.at, value.length);
  digits[value.length] = 0;
  char *end;
  *out = strtol(digits, &end, 10);
  return *end == 0 && *out <= 1000000000 ? 0 : -1;
}

static void put(struct json_out *out, const char *text, size_t length) {
  if (out->failed)
    return;
  if (out->length + length + 1 > out->room) {
    size_t room = (out->length + length + 1) * 2;
    char *grown = realloc(out->text, room);
    if (grown == NULL) {
      out->failed = 1;
      return;
    }
    out->text = grown;
    out->room = room;
  }
  memcpy(out->text + out->length, text, length);
  out->length += length;
  out->text[out->length] = 0;
}

void json_put(struct json_out *out, const char *text) { put(out, text, strlen(text)); }

void json_put_number(struct json_out *out, long long number) {
  char digits[32];
  snprintf(digits, sizeof digits, "%lld", number);
  json_put(out, digits);
}

void json_put_text(struct json_out *out, const char *text) {
  size_t left = strlen(text);
  put(out, "\"", 1);
  while (left > 0) {
    unsigned char byte = (unsigned char)*text;
    size_t length = utf8_length((const unsigned char *)text, left);
    if (length == 0) {
      put(out, "\xef\xbf\xbd", 3);
      length = 1;
    } else if (byte < 0x20 || byte == 0x7f) {
      char escaped[8];
      snprintf(escaped, sizeof escaped, "\\u%04x", byte);
      json_put(out, escaped);
    } else {
      if (byte == '"' || byte == '\\')
        put(out, "\\", 1);
      put(out, text, length);
    }
    text += length;
    left -= length;
  }
  put(out, "\"", 1);
}
