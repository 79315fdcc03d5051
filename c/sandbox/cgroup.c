#include "sandbox.h"

#include <unistd.h>

/*
 * Joins the session's scope through descriptors that the runtime opened: one on v2, one per
 * hierarchy on v1. A partial join aborts, since the command would run with some of its bounds
 * missing.
 */
int cgroup_apply(const struct mur_spec *spec) {
  for (uint32_t i = 0; i < spec->scope_count; i++)
    if (write(spec->scope_fds[i], "0", 1) != 1)
      return failed("cgroup scope", "write", "cgroup.procs");
  return 0;
}
