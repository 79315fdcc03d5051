#include "sandbox.h"

#include <sys/resource.h>

static const char *resource_name(uint32_t resource) {
  switch (resource) {
  case RLIMIT_CPU:
    return "RLIMIT_CPU";
  case RLIMIT_FSIZE:
    return "RLIMIT_FSIZE";
  case RLIMIT_DATA:
    return "RLIMIT_DATA";
  case RLIMIT_CORE:
    return "RLIMIT_CORE";
  case RLIMIT_NPROC:
    return "RLIMIT_NPROC";
  case RLIMIT_NOFILE:
    return "RLIMIT_NOFILE";
  case RLIMIT_AS:
    return "RLIMIT_AS";
  default:
    return "another resource";
  }
}

/* Hard limits of one process; an inherited hard limit that is lower stays. */
int limits_apply(const struct mur_spec *spec) {
  const struct mur_limit *limits = spec_limits(spec);
  for (uint32_t i = 0; i < spec->limits.count; i++) {
    struct rlimit inherited, wanted = {.rlim_cur = limits[i].soft, .rlim_max = limits[i].hard};
    int resource = (int)limits[i].resource;
    if (getrlimit(resource, &inherited) != 0)
      return failed("limits", "getrlimit", resource_name(limits[i].resource));
    if (wanted.rlim_max > inherited.rlim_max)
      wanted.rlim_max = inherited.rlim_max;
    if (wanted.rlim_cur > wanted.rlim_max)
      wanted.rlim_cur = wanted.rlim_max;
    if (setrlimit(resource, &wanted) != 0)
      return failed("limits", "setrlimit", resource_name(limits[i].resource));
  }
  return 0;
}
