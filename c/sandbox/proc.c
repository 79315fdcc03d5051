#include "sandbox.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel.h"

/* /proc of this pid namespace: the first spelling that the kernel takes; -1 if it takes none. */
int proc_mount(void) {
  static const char *const options[] = {"hidepid=2", "hidepid=invisible", NULL};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, options[i]) == 0)
      return 0;
  return failed("private proc", "mount", "proc");
}

/*
 * No more writing there: with a runtime that is root, most of /proc/sys would be writable by name
 * alone. Apart from mounting, because the id maps of a nested user namespace are written through
 * it.
 */
int proc_seal(void) {
  struct k_mount_attr attributes = {.set = K_MOUNT_ATTR_RDONLY};
  if (syscall(NR_MOUNT_SETATTR, AT_FDCWD, "/proc", K_AT_RECURSIVE, &attributes,
              sizeof attributes) != 0)
    return failed("private proc", "mount_setattr", "read-only");
  return 0;
}
