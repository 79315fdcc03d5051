/* tool-file-facts: what files are, of which size and mode, and their hashes.
 *
 * A native tool of murmur: one JSON object on standard input, `{"data": "<the input as JSON>" |
 * null, "log_path": ...}`, one on standard output. A refusal is an answer too; the exit status is 0
 * wherever there is one. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json.h"
#include "walk.h"

#define INPUT_BYTES (1 << 20)
#define ENTRIES 200
#define MOST_ENTRIES 5000

static const char *const MEMBERS[] = {"path", "recursive", "hash", "limit"};

static int refuse(struct refusal *refusal, const char *message) {
  refusal->kind = "invalid_input";
  snprintf(refusal->message, sizeof refusal->message, "%s", message);
  return -1;
}

static int answer_text(const char *text) {
  size_t left = strlen(text);
  while (left > 0) {
    ssize_t count = write(1, text, left);
    if (count < 0) {
      fprintf(stderr, "write to standard output: %s\n", strerror(errno));
      return 1;
    }
    text += count;
    left -= (size_t)count;
  }
  return 0;
}

static int answer_refusal(const struct refusal *refusal) {
  struct json_out out = {0};
  json_put(&out, strcmp(refusal->kind, "invalid_input") == 0 ? "{\"status\":\"error\""
                                                             : "{\"status\":\"failed\"");
  json_put(&out, ",\"summary\":");
  json_put_text(&out, refusal->message);
  json_put(&out, ",\"data\":{\"ok\":false,\"error_kind\":");
  json_put_text(&out, refusal->kind);
  json_put(&out, ",\"message\":");
  json_put_text(&out, refusal->message);
  json_put(&out, "},\"metadata\":{\"state_effect\":\"read\"}}\n");
  return out.failed ? 1 : answer_text(out.text);
}

/* Members that are null were not given. */
static int read_flag(const char *text, size_t length, const char *name, int *flag,
                     struct refusal *refusal) {
  struct json_value value;
  json_member(text, length, name, &value);
  if (value.kind == 't' || value.kind == 'f')
    *flag = value.kind == 't';
  else if (value.kind != 0 && value.kind != 'n') {
    char message[96];
    snprintf(message, sizeof message, "%s is neither true nor false", name);
    return refuse(refusal, message);
  }
  return 0;
}

static int read_call(const char *text, size_t length, struct walk *walk, char *path, size_t room,
                     struct refusal *refusal) {
  struct json_value key;
  struct json_value value;
  if (json_member(text, length, "path", &value) < 0)
    return refuse(refusal, "the input is no JSON object");
  if (value.kind != 0 && value.kind != 'n' && json_text(value, path, room) <= 0)
    return refuse(refusal, "path is no string, or empty, too long, or of half a character");
  if (json_member(text, length, "limit", &value) == 0 && value.kind != 0 && value.kind != 'n' &&
      (json_whole(value, &walk->limit) < 0 || walk->limit < 1 || walk->limit > MOST_ENTRIES))
    return refuse(refusal, "limit is not a whole number from 1 to 5000");
  if (read_flag(text, length, "recursive", &walk->recursive, refusal) < 0 ||
      read_flag(text, length, "hash", &walk->hash, refusal) < 0)
    return -1;
  size_t at = 0;
  size_t start = strspn(text, " \t\r\n");
  while (json_next(text + start, length - start, &at, &key, &value)) {
    char word[64];
    int known = json_text(key, word, sizeof word) >= 0 && value.kind == 'n';
    for (size_t each = 0; !known && each < sizeof MEMBERS / sizeof MEMBERS[0]; each++)
      known = json_text(key, word, sizeof word) >= 0 && strcmp(word, MEMBERS[each]) == 0;
    if (!known)
      return refuse(refusal, "the members are path, recursive, hash and limit, and no other");
  }
  return 0;
}

static int read_input(char *sent, char *call, struct refusal *refusal) {
  size_t length = 0;
  ssize_t count;
  while ((count = read(0, sent + length, INPUT_BYTES - length)) > 0)
    length += (size_t)count;
  if (count < 0) {
    refusal->kind = "io_error";
    snprintf(refusal->message, sizeof refusal->message, "standard input: read: %s",
             strerror(errno));
    return -1;
  }
  struct json_value data;
  if (length == INPUT_BYTES || json_member(sent, length, "data", &data) < 0)
    return refuse(refusal, "standard input holds no JSON object of less than 1 MiB");
  strcpy(call, "{}");
  if (data.kind != 0 && data.kind != 'n' && json_text(data, call, INPUT_BYTES) < 0)
    return refuse(refusal, "data is no string of JSON");
  return 0;
}

int main(void) {
  char *sent = malloc(INPUT_BYTES);
  char *call = malloc(INPUT_BYTES);
  if (sent == NULL || call == NULL) {
    fprintf(stderr, "malloc: %s\n", strerror(errno));
    return 1;
  }
  struct refusal refusal = {0};
  struct json_out entries = {0};
  struct walk walk = {.recursive = 0, .hash = 0, .limit = ENTRIES, .out = &entries};
  char path[PATH_ROOM] = ".";
  json_put(&entries, "");
  int status = 1;
  if (read_input(sent, call, &refusal) < 0 ||
      read_call(call, strlen(call), &walk, path, sizeof path, &refusal) < 0 ||
      walk_path(&walk, path, &refusal) < 0) {
    status = answer_refusal(&refusal);
  } else {
    struct json_out out = {0};
    char summary[64];
    snprintf(summary, sizeof summary, "%ld entries%s", walk.shown,
             walk.truncated ? " of more" : "");
    json_put(&out, "{\"status\":\"passed\",\"summary\":");
    json_put_text(&out, summary);
    json_put(&out, ",\"data\":{\"ok\":true,\"path\":");
    json_put_text(&out, path);
    json_put(&out, ",\"entries\":[");
    json_put(&out, entries.failed ? "" : entries.text);
    json_put(&out, walk.truncated ? "],\"truncated\":true}" : "],\"truncated\":false}");
    json_put(&out, walk.truncated ? ",\"truncated\":true" : ",\"truncated\":false");
    json_put(&out, ",\"metadata\":{\"state_effect\":\"read\"}}\n");
    if (entries.failed || out.failed)
      fprintf(stderr, "realloc: %s\n", strerror(ENOMEM));
    else
      status = answer_text(out.text);
    free(out.text);
  }
  free(entries.text);
  free(call);
  free(sent);
  return status;
}
