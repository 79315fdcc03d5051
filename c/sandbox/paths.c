#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel.h"

static int open_how(int directory, const char *path, int flags, uint64_t resolve) {
  struct k_open_how how = {.flags = (uint64_t)flags | O_CLOEXEC, .resolve = resolve};
  return (int)syscall(NR_OPENAT2, directory, path, &how, sizeof how);
}

/* Opens an absolute path in which no component is a link, and only the very object that the runtime
 * saw. */
int path_open(const char *path, int flags, uint64_t device, uint64_t inode) {
  int fd = open_how(AT_FDCWD, path, flags, K_RESOLVE_NO_SYMLINKS | K_RESOLVE_NO_MAGICLINKS);
  if (fd < 0 || (device == 0 && inode == 0))
    return fd;
  struct stat info;
  if (fstat(fd, &info) == 0 && info.st_dev == device && info.st_ino == inode)
    return fd;
  close(fd);
  errno = ESTALE;
  return -1;
}

int path_open_beneath(int directory, const char *path, int flags) {
  return open_how(directory, path, flags,
                  K_RESOLVE_BENEATH | K_RESOLVE_NO_SYMLINKS | K_RESOLVE_NO_MAGICLINKS);
}
