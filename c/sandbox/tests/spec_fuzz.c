/*
 * Feeds spec_check damaged launch specs. A sound spec is damaged in one to eight places, copied to
 * a heap block of its exact length, and checked; whatever the checker lets through is then read in
 * full, so that the address sanitizer sees any offset that it should have refused.
 *
 *   spec_fuzz ROUNDS [SEED]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../sandbox.h"

enum { ROOM = 4096, STRINGS = 64 };

static uint64_t state = 88172645463325252ULL;

static uint32_t chance(uint32_t below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)(state >> 32) % below;
}

static struct mur_span put(unsigned char *room, uint32_t *end, const void *records, uint32_t count,
                           size_t size) {
  struct mur_span span = {.offset = *end, .count = count};
  memcpy(room + *end, records, count * size);
  *end += (uint32_t)((count * size + 7) / 8 * 8);
  return span;
}

/* A spec with one or two records of everything; returns its length. */
static uint32_t sound_spec(unsigned char *room, uint32_t verb) {
  static const char strings[STRINGS] = "/bin/true\0A=1\0/work\0x";
  struct mur_text program = {0, 9}, variable = {10, 3}, folder = {14, 5}, letter = {20, 1};
  struct mur_text arguments[2] = {program, letter};
  struct mur_tree trees[2] = {
      {.device = 1, .inode = 2, .source = folder, .target = folder, .flags = 1},
      {.source = letter, .target = folder, .flags = MUR_TREE_LINK}};
  struct mur_rule rules[2] = {{.path = folder, .access = 4},
                              {.path = program, .access = 5, .flags = 1}};
  struct mur_limit limit = {.soft = 1, .hard = 2, .resource = 0};
  struct mur_spec spec = {.magic = MUR_SPEC_MAGIC, .version = MUR_SPEC_VERSION, .verb = verb};
  uint32_t end = sizeof spec;
  memset(room, 0, ROOM);
  spec.report_fd = spec.lifeline_fd = spec.holder_fd = spec.ruleset_fd = 5;
  spec.cwd_fd = spec.control_fd = 5;
  spec.program = program;
  spec.cwd = folder;
  spec.ports[0] = 443;
  spec.port_count = 1;
  spec.arguments = put(room, &end, arguments, 2, sizeof *arguments);
  spec.variables = put(room, &end, &variable, 1, sizeof variable);
  spec.trees = put(room, &end, trees, 2, sizeof *trees);
  spec.rules = put(room, &end, rules, 2, sizeof *rules);
  spec.limits = put(room, &end, &limit, 1, sizeof limit);
  spec.strings_offset = end;
  spec.strings_length = STRINGS;
  memcpy(room + end, strings, STRINGS);
  spec.size = end + STRINGS;
  memcpy(room, &spec, sizeof spec);
  return spec.size;
}

static size_t read_text(const struct mur_spec *spec, struct mur_text text) {
  const char *start = spec_text(spec, text);
  if (strlen(start) != text.length)
    abort();
  return text.length;
}

/* Reads all that the verbs would read. */
static size_t read_all(const struct mur_spec *spec) {
  size_t sum = read_text(spec, spec->program) + read_text(spec, spec->cwd);
  for (uint32_t i = 0; i < spec->arguments.count; i++)
    sum += read_text(spec, spec_texts(spec, spec->arguments)[i]);
  for (uint32_t i = 0; i < spec->variables.count; i++)
    sum += read_text(spec, spec_texts(spec, spec->variables)[i]);
  for (uint32_t i = 0; i < spec->trees.count; i++)
    sum +=
        read_text(spec, spec_trees(spec)[i].source) + read_text(spec, spec_trees(spec)[i].target);
  for (uint32_t i = 0; i < spec->rules.count; i++)
    sum += read_text(spec, spec_rules(spec)[i].path) + spec_rules(spec)[i].access;
  for (uint32_t i = 0; i < spec->limits.count; i++)
    sum += (size_t)spec_limits(spec)[i].soft;
  for (uint32_t i = 0; i < spec->scope_count; i++)
    sum += (size_t)spec->scope_fds[i];
  for (uint32_t i = 0; i < spec->port_count; i++)
    sum += spec->ports[i];
  return sum;
}

static void damage(unsigned char *room, uint32_t *length) {
  static const uint32_t values[] = {0, 1, 2, 7, 8, 0x7fffffff, 0x80000000, 0xfffffff8, 0xffffffff};
  uint32_t at = chance(*length);
  switch (chance(4)) {
  case 0:
    room[at] = (unsigned char)chance(256);
    break;
  case 1: {
    uint32_t value = values[chance(sizeof values / sizeof *values)];
    memcpy(room + at / 4 * 4, &value, sizeof value);
    break;
  }
  case 2: {
    uint32_t value = chance(*length + 16);
    memcpy(room + at / 4 * 4, &value, sizeof value);
    break;
  }
  default:
    *length = chance(2) ? chance(*length + 1) : *length + chance(64);
    if (chance(2) && *length >= sizeof(struct mur_spec))
      ((struct mur_spec *)(void *)room)->size = *length;
    if (*length == 0)
      *length = 1;
  }
}

int main(int argc, char **argv) {
  long rounds = argc > 1 ? atol(argv[1]) : 100000;
  if (argc > 2)
    state ^= strtoull(argv[2], NULL, 10);
  long passed = 0;
  size_t sum = 0;
  for (long round = 0; round < rounds; round++) {
    static unsigned char room[ROOM] __attribute__((aligned(8)));
    uint32_t verb = 1 + chance(4), length = sound_spec(room, verb);
    if (spec_check(room, length, verb) != NULL) {
      fprintf(stderr, "a sound spec was refused: %s\n", spec_check(room, length, verb));
      return 1;
    }
    for (uint32_t count = 1 + chance(8); count > 0; count--)
      damage(room, &length);
    void *exact = malloc(length);
    if (exact == NULL)
      return 1;
    memcpy(exact, room, length);
    if (spec_check(exact, length, verb) == NULL) {
      passed++;
      sum += read_all(exact);
    }
    free(exact);
  }
  printf("%ld rounds, %ld damaged specs still sound (%zu)\n", rounds, passed, sum % 10);
  return passed > 0 && passed < rounds ? 0 : 1;
}
