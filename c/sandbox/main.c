/*
 * mur-sandbox: the one place that touches namespaces, mounts, Landlock, seccomp, capabilities and
 * rlimits.
 *
 *   mur-sandbox run FD      one command inside a session's namespaces
 *   mur-sandbox hold FD     those namespaces, until the lifeline closes
 *   mur-sandbox guests FD   the zygote of the guest hosts
 *   mur-sandbox probe       what this host can enforce, a line per stage
 *   mur-sandbox version
 *
 * FD is a descriptor of a launch spec (spec.h). Nothing else is read from the command line, the
 * environment or a file.
 */
#include "sandbox.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static int descriptor(const char *text) {
  int value = 0;
  for (const char *digit = text; *digit != 0; digit++) {
    if (*digit < '0' || *digit > '9' || value > 1000000)
      return -1;
    value = value * 10 + (*digit - '0');
  }
  return *text == 0 ? -1 : value;
}

static int with_spec(const char *fd_text, uint32_t verb, int (*act)(const struct mur_spec *)) {
  int fd = descriptor(fd_text);
  const struct mur_spec *spec = fd < 0 ? NULL : spec_map(fd, verb);
  if (spec == NULL) {
    const struct failure *why = failure();
    fprintf(stderr, "mur-sandbox: %s: %s: %s\n",
            fd < 0 ? "not a descriptor" : "unusable launch spec", fd < 0 ? fd_text : why->call,
            why->argument != NULL ? why->argument : "");
    return EXIT_USAGE;
  }
  if (fcntl(spec->report_fd, F_GETFD) < 0) {
    fputs("mur-sandbox: unusable launch spec: check: its report descriptor is not open\n", stderr);
    return EXIT_USAGE;
  }
  return act(spec);
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "run") == 0)
    return with_spec(argv[2], MUR_VERB_RUN, run);
  if (argc == 3 && strcmp(argv[1], "hold") == 0)
    return with_spec(argv[2], MUR_VERB_HOLD, hold);
  if (argc == 3 && strcmp(argv[1], "guests") == 0)
    return with_spec(argv[2], MUR_VERB_GUESTS, guests);
  if (argc == 2 && strcmp(argv[1], "probe") == 0)
    return probe();
  if (argc == 2 && strcmp(argv[1], "version") == 0) {
    printf("mur-sandbox %s spec %d\n", MUR_HELPER_VERSION, MUR_SPEC_VERSION);
    return EXIT_OK;
  }
  fputs("usage: mur-sandbox run|hold|guests FD, mur-sandbox probe|version\n", stderr);
  return EXIT_USAGE;
}
