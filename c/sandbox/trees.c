#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel.h"

enum { LEFT_OUT = -2, FOLDER_MODE = 0755 };

static int tree_fds[MUR_MAX_TREES];

/*
 * A detached copy of a folder and what is mounted below it, or of a file. The source is opened
 * anew, since a descriptor from another mount namespace cannot be copied from, and compared with
 * what the runtime holds.
 */
static int clone_tree(const char *step, const struct mur_spec *spec, const struct mur_tree *tree) {
  const char *source = spec_text(spec, tree->source);
  uint64_t attributes = K_MOUNT_ATTR_NOSUID | K_MOUNT_ATTR_NODEV;
  if ((tree->flags & MUR_TREE_NOEXEC) != 0)
    attributes |= K_MOUNT_ATTR_NOEXEC;
  if ((tree->flags & MUR_TREE_READ_ONLY) != 0)
    attributes |= K_MOUNT_ATTR_RDONLY;
  int fd = path_open(source, O_PATH, tree->device, tree->inode);
  if (fd < 0 && (tree->flags & MUR_TREE_OPTIONAL) != 0)
    return LEFT_OUT;
  if (fd < 0)
    return failed(step, "openat2", source);
  int copy = tree_copy(step, fd, attributes, source);
  close(fd);
  return copy;
}

/* A detached, recursive copy of the mount at an O_PATH descriptor, with more restrictions. */
int tree_copy(const char *step, int fd, uint64_t attributes, const char *name) {
  int copy = (int)syscall(NR_OPEN_TREE, fd, "",
                          AT_EMPTY_PATH | K_AT_RECURSIVE | K_OPEN_TREE_CLONE | O_CLOEXEC);
  if (copy < 0)
    return failed(step, "open_tree", name);
  struct k_mount_attr wanted = {.set = attributes};
  if (syscall(NR_MOUNT_SETATTR, copy, "", AT_EMPTY_PATH | K_AT_RECURSIVE, &wanted, sizeof wanted) !=
      0) {
    failed(step, "mount_setattr", name);
    close(copy);
    return -1;
  }
  return copy;
}

int tree_attach(const char *step, int copy, int point, const char *name) {
  if (syscall(NR_MOVE_MOUNT, copy, "", point, "",
              K_MOVE_MOUNT_F_EMPTY_PATH | K_MOVE_MOUNT_T_EMPTY_PATH) != 0)
    return failed(step, "move_mount", name);
  return 0;
}

/*
 * Opens the folder that holds the last name of an absolute path, below `root`, making the folders
 * that are missing. No link is followed. Only what was attached before can be written here: the
 * host's own folders already hold the path.
 */
static int open_parent(const char *step, int root, const char *path, const char **last) {
  int here = openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (here < 0)
    return failed(step, "openat", "/");
  for (;;) {
    while (*path == '/')
      path++;
    size_t length = strcspn(path, "/");
    if (path[length] == 0) {
      *last = path;
      return here;
    }
    char name[NAME_MAX + 1];
    if (length > NAME_MAX) {
      close(here);
      return refused(step, "mkdirat", path, ENAMETOOLONG);
    }
    memcpy(name, path, length);
    name[length] = 0;
    int next = openat(here, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0 && errno == ENOENT && mkdirat(here, name, FOLDER_MODE) == 0)
      next = openat(here, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0)
      failed(step, "openat", path);
    close(here);
    if (next < 0)
      return -1;
    here = next;
    path += length;
  }
}

/* An empty folder or file of that name, for something to be attached over. */
static int make_point(const char *step, int folder, const char *name, int is_folder) {
  if (is_folder && mkdirat(folder, name, FOLDER_MODE) != 0)
    return failed(step, "mkdirat", name);
  int flags = O_NOFOLLOW | O_CLOEXEC;
  flags |= is_folder ? O_PATH | O_DIRECTORY : O_CREAT | O_EXCL | O_WRONLY;
  int fd = openat(folder, name, flags, 0644);
  if (fd < 0)
    return failed(step, "openat", name);
  return fd;
}

static int is_folder(int fd) {
  struct stat info;
  return fstat(fd, &info) == 0 && S_ISDIR(info.st_mode);
}

/* The mount point for an absolute path below `root`, made where that is asked for. */
static int open_point(const char *step, int root, const char *path, int make, int folder) {
  int fd = path_open_beneath(root, path + strspn(path, "/"), O_PATH);
  if (fd >= 0 || errno != ENOENT || !make)
    return fd < 0 ? failed(step, "openat2", path) : fd;
  const char *name;
  int parent = open_parent(step, root, path, &name);
  if (parent < 0)
    return -1;
  fd = make_point(step, parent, name, folder);
  close(parent);
  return fd;
}

static int make_link(const char *step, const struct mur_spec *spec, const struct mur_tree *tree,
                     int root) {
  const char *target = spec_text(spec, tree->target), *name;
  int parent = open_parent(step, root, target, &name);
  if (parent < 0)
    return -1;
  int done = symlinkat(spec_text(spec, tree->source), parent, name);
  if (done != 0 && errno == EEXIST) /* what was attached before has something of that name */
    done = 0;
  if (done != 0)
    failed(step, "symlinkat", target);
  close(parent);
  return done;
}

static int attach_tree(const char *step, const struct mur_spec *spec, const struct mur_tree *tree,
                       int copy, int root) {
  const char *target = spec_text(spec, tree->target);
  int make = (tree->flags & MUR_TREE_MAKE_TARGET) != 0;
  int point = open_point(step, root, target, make, is_folder(copy));
  if (point < 0)
    return -1;
  int done = tree_attach(step, copy, point, target);
  close(point);
  return done;
}

/*
 * Copies of all the trees of a spec. All before the first is attached, because attaching /tmp hides
 * whatever else the host keeps beneath it.
 */
int trees_clone(const char *step, const struct mur_spec *spec) {
  const struct mur_tree *trees = spec_trees(spec);
  for (uint32_t i = 0; i < spec->trees.count; i++) {
    tree_fds[i] = LEFT_OUT;
    if ((trees[i].flags & MUR_TREE_LINK) == 0)
      tree_fds[i] = clone_tree(step, spec, &trees[i]);
    if (tree_fds[i] == -1)
      return -1;
  }
  return 0;
}

/* Attaches the copies below `root`, in the order of the spec. */
int trees_attach(const char *step, const struct mur_spec *spec, int root) {
  const struct mur_tree *trees = spec_trees(spec);
  for (uint32_t i = 0; i < spec->trees.count; i++) {
    int done = 0;
    if ((trees[i].flags & MUR_TREE_LINK) != 0) {
      done = make_link(step, spec, &trees[i], root);
    } else if (tree_fds[i] >= 0) {
      done = attach_tree(step, spec, &trees[i], tree_fds[i], root);
      close(tree_fds[i]);
    }
    if (done != 0)
      return -1;
  }
  return 0;
}
