#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(sizeof(struct mur_text) == 8, "mur_text is packed");
_Static_assert(sizeof(struct mur_tree) == 40, "mur_tree is packed");
_Static_assert(sizeof(struct mur_rule) == 32, "mur_rule is packed");
_Static_assert(sizeof(struct mur_limit) == 24, "mur_limit is packed");
_Static_assert(sizeof(struct mur_report) == 1016, "mur_report is packed");
_Static_assert(sizeof(struct mur_spec) == 208, "mur_spec is packed");

static int span_sound(const struct mur_spec *spec, struct mur_span span, size_t record,
                      uint32_t most) {
  if (span.count == 0)
    return 1;
  if (span.count > most || span.offset % 8 != 0 || span.offset < sizeof *spec)
    return 0;
  return (uint64_t)span.offset + (uint64_t)span.count * record <= spec->strings_offset;
}

static int text_sound(const struct mur_spec *spec, struct mur_text text) {
  if ((uint64_t)text.offset + text.length >= spec->strings_length)
    return 0;
  const char *start = (const char *)spec + spec->strings_offset + text.offset;
  return memchr(start, 0, (size_t)text.length + 1) == start + text.length;
}

static int texts_sound(const struct mur_spec *spec, struct mur_span span) {
  const struct mur_text *texts = spec_texts(spec, span);
  for (uint32_t i = 0; i < span.count; i++)
    if (!text_sound(spec, texts[i]))
      return 0;
  return 1;
}

static int absolute(const struct mur_spec *spec, struct mur_text text) {
  return text_sound(spec, text) && spec_text(spec, text)[0] == '/';
}

static int source_sound(const struct mur_spec *spec, const struct mur_tree *tree) {
  if ((tree->flags & MUR_TREE_LINK) != 0)
    return text_sound(spec, tree->source) && tree->source.length > 0;
  return absolute(spec, tree->source);
}

static const char *check_records(const struct mur_spec *spec) {
  const struct mur_tree *trees = spec_trees(spec);
  for (uint32_t i = 0; i < spec->trees.count; i++)
    if (!source_sound(spec, &trees[i]) || !absolute(spec, trees[i].target) ||
        (trees[i].flags & ~(uint32_t)MUR_TREE_FLAGS) != 0 || trees[i].reserved != 0)
      return "a tree is malformed";
  const struct mur_rule *rules = spec_rules(spec);
  for (uint32_t i = 0; i < spec->rules.count; i++)
    if (!absolute(spec, rules[i].path) || (rules[i].access & ~(uint32_t)MUR_ACCESS_ALL) != 0 ||
        rules[i].access == 0 || (rules[i].flags & ~(uint32_t)MUR_RULE_FLAGS) != 0)
      return "a rule is malformed";
  const struct mur_limit *limits = spec_limits(spec);
  for (uint32_t i = 0; i < spec->limits.count; i++)
    if (limits[i].soft > limits[i].hard || limits[i].resource >= 16 || limits[i].reserved != 0)
      return "a limit is malformed";
  return NULL;
}

static const char *check_verb(const struct mur_spec *spec) {
  switch (spec->verb) {
  case MUR_VERB_RUN:
    if (spec->holder_fd < 3 || spec->cwd_fd < 3)
      return "run without a session";
    if ((spec->flags & MUR_FLAG_LANDLOCK) != 0 && spec->ruleset_fd < 3)
      return "run without a ruleset";
    for (uint32_t i = 0; i < spec->scope_count; i++)
      if (spec->scope_fds[i] < 3)
        return "a scope has no descriptor";
    break;
  case MUR_VERB_HOLD:
    if (spec->lifeline_fd < 3)
      return "hold without a lifeline";
    if (!absolute(spec, spec->cwd))
      return "hold without a work folder";
    for (uint32_t i = 0; i < spec->port_count; i++)
      if (spec->ports[i] == 0)
        return "a port is 0";
    break;
  case MUR_VERB_GUESTS:
    if (spec->control_fd < 3)
      return "guests without a control socket";
    break;
  default:
    break;
  }
  if (spec->verb == MUR_VERB_RUN || spec->verb == MUR_VERB_GUESTS) {
    if (spec->arguments.count == 0)
      return "no arguments";
    if (!absolute(spec, spec->program))
      return "the program is not an absolute path";
  }
  if (spec->verb != MUR_VERB_LOCKDOWN && spec->report_fd < 3)
    return "no report descriptor";
  return NULL;
}

const char *spec_check(const void *base, size_t length, uint32_t verb) {
  const struct mur_spec *spec = base;
  if (length < sizeof *spec || length > MUR_SPEC_MAX_BYTES)
    return "its length is out of range";
  if (spec->magic != MUR_SPEC_MAGIC)
    return "its magic number is wrong";
  if (spec->version != MUR_SPEC_VERSION)
    return "its version is another one";
  if (spec->size != length)
    return "its size is not the length of the descriptor";
  if (spec->verb != verb)
    return "it is for another verb";
  if ((spec->flags & ~(uint32_t)MUR_FLAGS) != 0 ||
      (spec->seccomp & ~(uint32_t)MUR_SECCOMP_OPTIONS) != 0 || spec->reserved != 0)
    return "it has unknown flags";
  if (spec->strings_offset < sizeof *spec ||
      (uint64_t)spec->strings_offset + spec->strings_length != length)
    return "its string area does not end it";
  if (spec->scope_count > MUR_MAX_SCOPES)
    return "it names too many scopes";
  if (spec->port_count > MUR_MAX_PORTS)
    return "it names too many ports";
  if (!span_sound(spec, spec->arguments, sizeof(struct mur_text), MUR_MAX_ARGUMENTS) ||
      !span_sound(spec, spec->variables, sizeof(struct mur_text), MUR_MAX_VARIABLES) ||
      !span_sound(spec, spec->trees, sizeof(struct mur_tree), MUR_MAX_TREES) ||
      !span_sound(spec, spec->rules, sizeof(struct mur_rule), MUR_MAX_RULES) ||
      !span_sound(spec, spec->limits, sizeof(struct mur_limit), MUR_MAX_LIMITS))
    return "an array lies outside it";
  if (!text_sound(spec, spec->program) || !text_sound(spec, spec->cwd) ||
      !texts_sound(spec, spec->arguments) || !texts_sound(spec, spec->variables))
    return "a text lies outside the string area";
  const char *reason = check_records(spec);
  return reason != NULL ? reason : check_verb(spec);
}

const struct mur_spec *spec_map(int fd, uint32_t verb) {
  struct stat info;
  if (fstat(fd, &info) != 0) {
    failed("spec", "fstat", NULL);
    return NULL;
  }
  if (info.st_size < (off_t)sizeof(struct mur_spec) || info.st_size > MUR_SPEC_MAX_BYTES) {
    refused("spec", "check", "its length is out of range", EINVAL);
    return NULL;
  }
  size_t length = (size_t)info.st_size;
  void *base = mmap(NULL, length, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
  if (base == MAP_FAILED) {
    failed("spec", "mmap", NULL);
    return NULL;
  }
  const char *reason = spec_check(base, length, verb);
  if (reason != NULL) {
    refused("spec", "check", reason, EINVAL);
    return NULL;
  }
  return base;
}

const char *spec_text(const struct mur_spec *spec, struct mur_text text) {
  return (const char *)spec + spec->strings_offset + text.offset;
}

static const void *at(const struct mur_spec *spec, struct mur_span span) {
  return (const char *)spec + span.offset;
}

const struct mur_text *spec_texts(const struct mur_spec *spec, struct mur_span span) {
  return at(spec, span);
}

const struct mur_tree *spec_trees(const struct mur_spec *spec) { return at(spec, spec->trees); }

const struct mur_rule *spec_rules(const struct mur_spec *spec) { return at(spec, spec->rules); }

const struct mur_limit *spec_limits(const struct mur_spec *spec) { return at(spec, spec->limits); }
