#include "sandbox.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Bounding set first, since dropping from it needs a capability; then every set; then no_new_privs.
 * EPERM in the first loop means that nothing can be gained either (an unprivileged guest host).
 */
int capabilities_apply(void) {
  for (int number = 0; number < 64; number++)
    if (prctl(PR_CAPBSET_DROP, number, 0, 0, 0) != 0) {
      if (errno == EINVAL)
        break;
      if (errno != EPERM)
        return failed("capabilities", "prctl", "PR_CAPBSET_DROP");
    }
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 && errno != EINVAL)
    return failed("capabilities", "prctl", "PR_CAP_AMBIENT_CLEAR_ALL");
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct none[2] = {{0}, {0}};
  if (syscall(SYS_capset, &header, none) != 0)
    return failed("capabilities", "capset", NULL);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return failed("capabilities", "prctl", "PR_SET_NO_NEW_PRIVS");
  return 0;
}
