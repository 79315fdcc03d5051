#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel.h"

static int tree_fds[MUR_MAX_TREES];

/*
 * A detached copy of a folder and what is mounted below it. The source is opened anew, since a
 * descriptor from another mount namespace cannot be copied from, and compared with what the runtime
 * holds.
 */
static int clone_tree(const struct mur_spec *spec, const struct mur_tree *tree) {
  const char *source = spec_text(spec, tree->source);
  int fd = path_open(source, O_PATH | O_DIRECTORY, tree->device, tree->inode);
  if (fd < 0)
    return failed("mount view", "openat2", source);
  int copy = (int)syscall(NR_OPEN_TREE, fd, "",
                          AT_EMPTY_PATH | K_AT_RECURSIVE | K_OPEN_TREE_CLONE | O_CLOEXEC);
  if (copy < 0) {
    failed("mount view", "open_tree", source);
    close(fd);
    return -1;
  }
  close(fd);
  struct k_mount_attr attributes = {.set = K_MOUNT_ATTR_NOSUID | K_MOUNT_ATTR_NODEV};
  if ((tree->flags & MUR_TREE_NOEXEC) != 0)
    attributes.set |= K_MOUNT_ATTR_NOEXEC;
  if ((tree->flags & MUR_TREE_READ_ONLY) != 0)
    attributes.set |= K_MOUNT_ATTR_RDONLY;
  if (syscall(NR_MOUNT_SETATTR, copy, "", AT_EMPTY_PATH | K_AT_RECURSIVE, &attributes,
              sizeof attributes) != 0) {
    failed("mount view", "mount_setattr", source);
    close(copy);
    return -1;
  }
  return copy;
}

/*
 * Makes the folders down to an absolute path, where they do not exist, without following a link.
 * Only trees attached before can be written here: the host's own folders already hold the path.
 */
static int make_folders(const char *path) {
  int here = path_open("/", O_PATH | O_DIRECTORY, 0, 0);
  if (here < 0)
    return failed("mount view", "openat2", "/");
  while (*path != 0) {
    while (*path == '/')
      path++;
    size_t length = strcspn(path, "/");
    if (length == 0)
      break;
    char name[NAME_MAX + 1];
    if (length > NAME_MAX) {
      close(here);
      return refused("mount view", "mkdirat", path, ENAMETOOLONG);
    }
    memcpy(name, path, length);
    name[length] = 0;
    if (mkdirat(here, name, 0700) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES) {
      failed("mount view", "mkdirat", path);
      close(here);
      return -1;
    }
    int next = openat(here, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0) {
      failed("mount view", "openat", path);
      close(here);
      return -1;
    }
    close(here);
    here = next;
    path += length;
  }
  return here;
}

static int attach_tree(const struct mur_spec *spec, const struct mur_tree *tree, int copy) {
  const char *target = spec_text(spec, tree->target);
  int fd = path_open(target, O_PATH | O_DIRECTORY, 0, 0);
  if (fd < 0 && errno == ENOENT && (tree->flags & MUR_TREE_MAKE_TARGET) != 0) {
    fd = make_folders(target);
    if (fd < 0)
      return -1;
  }
  if (fd < 0)
    return failed("mount view", "openat2", target);
  int moved = (int)syscall(NR_MOVE_MOUNT, copy, "", fd, "",
                           K_MOVE_MOUNT_F_EMPTY_PATH | K_MOVE_MOUNT_T_EMPTY_PATH);
  if (moved != 0)
    failed("mount view", "move_mount", target);
  close(fd);
  return moved;
}

/*
 * Everything of the host read-only. Landlock leaves chmod, chown, utime and setxattr alone, so a
 * command could still open the operator's keys to everybody.
 */
int root_seal(void) {
  struct k_mount_attr attributes = {.set = K_MOUNT_ATTR_RDONLY | K_MOUNT_ATTR_NOSUID};
  if (syscall(NR_MOUNT_SETATTR, AT_FDCWD, "/", K_AT_RECURSIVE, &attributes, sizeof attributes) != 0)
    return failed("mount view", "mount_setattr", "/ read-only");
  return 0;
}

/*
 * The session's mounts, in a mount namespace of its own. Every tree is copied before the first is
 * attached, because attaching /tmp hides whatever else the host keeps beneath it; and before the
 * host becomes read-only, so that only the trees can be written.
 */
int root_apply(const struct mur_spec *spec) {
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
    return failed("mount view", "mount", "/ private");
  const struct mur_tree *trees = spec_trees(spec);
  for (uint32_t i = 0; i < spec->trees.count; i++) {
    tree_fds[i] = clone_tree(spec, &trees[i]);
    if (tree_fds[i] < 0)
      return -1;
  }
  if (root_seal() != 0)
    return -1;
  for (uint32_t i = 0; i < spec->trees.count; i++) {
    if (attach_tree(spec, &trees[i], tree_fds[i]) != 0)
      return -1;
    close(tree_fds[i]);
  }
  return 0;
}

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
