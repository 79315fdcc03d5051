#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel.h"

static const char VIEW[] = "mount view";
const char SEALED_ROOT[] = "sealed-root";

static int make_private(const char *step) {
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
    return failed(step, "mount", "/ private");
  return 0;
}

/*
 * Everything of the host read-only. Landlock leaves chmod, chown, utime and setxattr alone, so a
 * command could still open the operator's keys to everybody.
 */
int root_seal(void) {
  struct k_mount_attr attributes = {.set = K_MOUNT_ATTR_RDONLY | K_MOUNT_ATTR_NOSUID};
  if (syscall(NR_MOUNT_SETATTR, AT_FDCWD, "/", K_AT_RECURSIVE, &attributes, sizeof attributes) != 0)
    return failed(VIEW, "mount_setattr", "/ read-only");
  return 0;
}

/*
 * The host's own root with the session's mounts in it, in a mount namespace of its own. The trees
 * are copied before the host becomes read-only, so that only they can be written.
 */
int root_apply(const struct mur_spec *spec) {
  if (make_private(VIEW) != 0 || trees_clone(VIEW, spec) != 0 || root_seal() != 0)
    return -1;
  int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0)
    return failed(VIEW, "open", "/");
  int done = trees_attach(VIEW, spec, root);
  close(root);
  return done;
}

/*
 * A tmpfs over the first of these that exists, and into it. Whatever it hides has been copied
 * already, so that the work folder may well lie there.
 */
static int enter_base(void) {
  static const char *const bases[] = {"/tmp", "/run", "/var/tmp", "/mnt", "/media"};
  for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
    struct stat info;
    if (lstat(bases[i], &info) != 0 || !S_ISDIR(info.st_mode))
      continue;
    if (mount("tmpfs", bases[i], "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") != 0)
      return failed(SEALED_ROOT, "mount", bases[i]);
    if (chdir(bases[i]) != 0)
      return failed(SEALED_ROOT, "chdir", bases[i]);
    return 0;
  }
  return refused(SEALED_ROOT, "mount", "no folder to compose a root on", ENOENT);
}

/* The session's /proc, or the host's where the kernel mounts none: then Landlock closes it. */
static int clone_proc(void) {
  int fd = path_open("/proc", O_PATH | O_DIRECTORY, 0, 0);
  if (fd < 0)
    return failed(SEALED_ROOT, "openat2", "/proc");
  int copy = tree_copy(SEALED_ROOT, fd,
                       K_MOUNT_ATTR_RDONLY | K_MOUNT_ATTR_NOSUID | K_MOUNT_ATTR_NODEV |
                           K_MOUNT_ATTR_NOEXEC,
                       "/proc");
  close(fd);
  return copy;
}

static int attach_proc(int copy, int root) {
  if (mkdirat(root, "proc", 0755) != 0)
    return failed(SEALED_ROOT, "mkdirat", "/proc");
  int point = openat(root, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (point < 0)
    return failed(SEALED_ROOT, "openat", "/proc");
  int done = tree_attach(SEALED_ROOT, copy, point, "/proc");
  close(point);
  return done;
}

/* /dev and /proc first: nothing of a spec may come to lie above them. */
static int populate(const struct mur_spec *spec, int proc) {
  int root = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0)
    return failed(SEALED_ROOT, "open", "the new root");
  int done = devices_apply();
  if (done == 0)
    done = attach_proc(proc, root);
  if (done == 0)
    done = trees_attach(SEALED_ROOT, spec, root);
  close(root);
  return done;
}

/* From the composed root in the current folder on, nothing else exists; and it stays as it is. */
static int switch_root(void) {
  if (mkdir(".mur-oldroot", 0700) != 0)
    return failed(SEALED_ROOT, "mkdir", ".mur-oldroot");
  if (syscall(SYS_pivot_root, ".", ".mur-oldroot") != 0)
    return failed(SEALED_ROOT, "pivot_root", NULL);
  if (chdir("/") != 0)
    return failed(SEALED_ROOT, "chdir", "/");
  if (umount2("/.mur-oldroot", MNT_DETACH) != 0)
    return failed(SEALED_ROOT, "umount2", ".mur-oldroot");
  if (rmdir("/.mur-oldroot") != 0)
    return failed(SEALED_ROOT, "rmdir", ".mur-oldroot");
  struct k_mount_attr attributes = {.set = K_MOUNT_ATTR_RDONLY | K_MOUNT_ATTR_NOSUID |
                                           K_MOUNT_ATTR_NODEV};
  if (syscall(NR_MOUNT_SETATTR, AT_FDCWD, "/", 0, &attributes, sizeof attributes) != 0)
    return failed(SEALED_ROOT, "mount_setattr", "/ read-only");
  return 0;
}

/*
 * A root that holds nothing but the spec's trees, devices and /proc. spec/containment.md 13. In
 * a user namespace below the session's, which therefore cannot be reconfigured from here: call it
 * once /proc is the session's own, since the id maps are written through that.
 */
int root_compose(const struct mur_spec *spec) {
  if (namespaces_create(CLONE_NEWNS) != 0 || make_private(SEALED_ROOT) != 0)
    return -1;
  umask(022);
  int proc = clone_proc();
  if (proc < 0 || trees_clone(SEALED_ROOT, spec) != 0 || enter_base() != 0)
    return -1;
  if (populate(spec, proc) != 0)
    return -1;
  close(proc);
  return switch_root();
}
