#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel.h"

/* spec/containment.md 13.4: the host's nodes, since a user namespace may not make any. */
static const char *const nodes[] = {"null", "zero", "full", "tty", "random", "urandom"};
static const char *const links[][2] = {{"/proc/self/fd", "fd"},
                                       {"/proc/self/fd/0", "stdin"},
                                       {"/proc/self/fd/1", "stdout"},
                                       {"/proc/self/fd/2", "stderr"}};

/* A node that the host lacks is left out. */
static int attach_node(const char *name, int folder) {
  char path[32];
  snprintf(path, sizeof path, "/dev/%s", name);
  int node = path_open(path, O_PATH, 0, 0);
  if (node < 0 && errno == ENOENT)
    return 0;
  if (node < 0)
    return failed(SEALED_ROOT, "openat2", name);
  int copy = tree_copy(SEALED_ROOT, node,
                       K_MOUNT_ATTR_RDONLY | K_MOUNT_ATTR_NOSUID | K_MOUNT_ATTR_NOEXEC, name);
  close(node);
  if (copy < 0)
    return -1;
  int done = -1;
  int point = openat(folder, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (point < 0)
    failed(SEALED_ROOT, "openat", name);
  else
    done = tree_attach(SEALED_ROOT, copy, point, name);
  if (point >= 0)
    close(point);
  close(copy);
  return done;
}

/*
 * Terminals of the session's own. Kernels that want root mapped for it refuse this file system to
 * an ordinary user's namespace: then there are none, and /dev/ptmx leads nowhere.
 */
static int mount_terminals(int folder) {
  if (mkdirat(folder, "pts", 0755) != 0)
    return failed(SEALED_ROOT, "mkdirat", "/dev/pts");
  if (mount("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
            "newinstance,ptmxmode=0666,mode=0620") != 0 &&
      errno != EINVAL && errno != EPERM)
    return failed(SEALED_ROOT, "mount", "devpts");
  if (symlinkat("pts/ptmx", folder, "ptmx") != 0)
    return failed(SEALED_ROOT, "symlinkat", "/dev/ptmx");
  return 0;
}

static int fill(int folder) {
  for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
    if (attach_node(nodes[i], folder) != 0)
      return -1;
  for (size_t i = 0; i < sizeof links / sizeof *links; i++)
    if (symlinkat(links[i][0], folder, links[i][1]) != 0)
      return failed(SEALED_ROOT, "symlinkat", links[i][1]);
  return mount_terminals(folder);
}

/* dev/ of the root that is being composed, which is the current folder. */
int devices_apply(void) {
  if (mkdir("dev", 0755) != 0)
    return failed(SEALED_ROOT, "mkdir", "/dev");
  if (mount("tmpfs", "dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755,size=1m") != 0)
    return failed(SEALED_ROOT, "mount", "/dev");
  int folder = open("dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0)
    return failed(SEALED_ROOT, "open", "/dev");
  int done = fill(folder);
  if (done == 0) {
    struct k_mount_attr attributes = {.set = K_MOUNT_ATTR_RDONLY};
    done =
        (int)syscall(NR_MOUNT_SETATTR, folder, "", AT_EMPTY_PATH, &attributes, sizeof attributes);
    if (done != 0)
      failed(SEALED_ROOT, "mount_setattr", "/dev read-only");
  }
  close(folder);
  return done;
}
