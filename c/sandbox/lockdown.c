#include "sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Landlock, seccomp and capabilities bind the calling thread alone: another one would stay free. */
static int assert_one_thread(void) {
  DIR *tasks = opendir("/proc/self/task");
  if (tasks == NULL)
    return failed("threads", "opendir", "/proc/self/task");
  int count = 0;
  for (struct dirent *entry; (entry = readdir(tasks)) != NULL;)
    count += entry->d_name[0] != '.';
  closedir(tasks);
  if (count != 1)
    return refused("threads", "readdir", "the process has more than one thread", EBUSY);
  return 0;
}

static int lock(const struct mur_spec *spec) {
  if (assert_one_thread() != 0 || limits_apply(spec) != 0)
    return -1;
  int ruleset = -1;
  if ((spec->flags & MUR_FLAG_LANDLOCK) != 0) {
    ruleset = landlock_build(spec, 0);
    if (ruleset < 0)
      return -1;
  }
  int done = capabilities_apply();
  if (done == 0 && ruleset >= 0)
    done = landlock_enter(ruleset);
  if (ruleset >= 0)
    close(ruleset);
  if (done == 0 && (spec->flags & MUR_FLAG_SECCOMP) != 0)
    done = seccomp_apply(spec->seccomp);
  return done;
}

/*
 * Locks the calling process down as a guest host, for good. Returns 0; or -1 with one line in
 * `error`, and then some of the steps may be in force already: the process must end.
 */
__attribute__((visibility("default"))) int mur_lockdown(int spec_fd, char *error,
                                                        size_t error_length) {
  const struct mur_spec *spec = spec_map(spec_fd, MUR_VERB_LOCKDOWN);
  int done = spec == NULL ? -1 : lock(spec);
  if (done != 0 && error != NULL && error_length > 0) {
    const struct failure *why = failure();
    snprintf(error, error_length, "%s: %s%s%s: %s", why->step, why->call,
             why->argument != NULL ? " " : "", why->argument != NULL ? why->argument : "",
             strerror(why->error));
  }
  if (spec != NULL)
    munmap((void *)(uintptr_t)spec, spec->size);
  return done;
}

/* The filter for either architecture, for those who want to read or simulate it. */
__attribute__((visibility("default"))) int mur_filter(uint32_t audit_arch, uint32_t options,
                                                      struct sock_filter *out, int room) {
  return seccomp_build(audit_arch, options, out, room);
}
