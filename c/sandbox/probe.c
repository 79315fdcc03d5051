#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel.h"

enum { HTTPS = 443 };

/*
 * Each stage does, in a child of its own, just what a session does (spec/containment.md 3), and
 * leaves nothing behind: a Landlock domain forbids mounts for good, and namespaces cannot be left.
 *
 * A line per stage on stdout: `<stage> ok [<number>]` or `<stage> failed <call> <errno> <step>`.
 */

static int in_landlock(void) {
  int abi = landlock_abi();
  if (abi < 1)
    return failed("landlock", "landlock_create_ruleset", NULL);
  struct k_landlock_ruleset attributes = {.handled_access_fs = MUR_ACCESS_READ_FILE};
  int ruleset = (int)syscall(NR_LANDLOCK_CREATE_RULESET, &attributes, sizeof attributes, 0);
  if (ruleset < 0)
    return failed("landlock", "landlock_create_ruleset", NULL);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return failed("landlock", "prctl", NULL);
  return landlock_enter(ruleset);
}

static int in_seccomp(void) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return failed("seccomp", "prctl", NULL);
  return seccomp_apply(0);
}

static int in_network(void) {
  if (namespaces_create(CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC) != 0 || network_up() != 0)
    return -1;
  return dns_socket_open() < 0 || listener_open(INADDR_ANY, HTTPS) < 0 ? -1 : 0;
}

static int attach_onto_tmp(void) {
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
    return failed("mount view", "mount", NULL);
  int copy =
      (int)syscall(NR_OPEN_TREE, AT_FDCWD, "/tmp", K_AT_RECURSIVE | K_OPEN_TREE_CLONE | O_CLOEXEC);
  if (copy < 0)
    return failed("mount view", "open_tree", NULL);
  struct k_mount_attr attributes = {.set = K_MOUNT_ATTR_NOSUID | K_MOUNT_ATTR_NODEV |
                                           K_MOUNT_ATTR_NOEXEC};
  if (syscall(NR_MOUNT_SETATTR, copy, "", AT_EMPTY_PATH | K_AT_RECURSIVE, &attributes,
              sizeof attributes) != 0)
    return failed("mount view", "mount_setattr", NULL);
  if (root_seal() != 0)
    return -1;
  if (syscall(NR_MOVE_MOUNT, copy, "", AT_FDCWD, "/tmp", K_MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return failed("mount view", "move_mount", NULL);
  return 0;
}

static int in_mounts(void) { return namespaces_create(CLONE_NEWNS) != 0 ? -1 : attach_onto_tmp(); }

/* Runs act in a child that is pid 1 of a new pid namespace; what failed comes back through the
 * pipe. */
static int as_first_process(int (*act)(void)) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return failed("probe", "pipe2", NULL);
  pid_t child = fork();
  if (child < 0)
    return failed("probe", "fork", NULL);
  if (child == 0) {
    if (act() != 0)
      (void)!write(ends[1], failure(), sizeof(struct failure));
    _exit(0);
  }
  close(ends[1]);
  struct failure why; /* its texts are constants, at one address in parent and child */
  ssize_t got = read(ends[0], &why, sizeof why);
  close(ends[0]);
  waitpid(child, NULL, 0);
  return got == (ssize_t)sizeof why ? refused(why.step, why.call, why.argument, why.error) : 0;
}

static int mount_own_proc(void) {
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
    return failed("private proc", "mount", NULL);
  return proc_mount();
}

static int mount_sealed_proc(void) { return mount_own_proc() != 0 ? -1 : proc_seal(); }

static int in_proc(void) {
  return namespaces_create(CLONE_NEWNS | CLONE_NEWPID) != 0 ? -1
                                                            : as_first_process(mount_sealed_proc);
}

static int in_memfd(void) {
  return namespaces_create(CLONE_NEWPID) != 0 ? -1 : as_first_process(memfd_noexec);
}

/* The smallest spec that holds a tree: a folder that every host has. */
struct one_tree {
  struct mur_spec head;
  struct mur_tree tree;
  char strings[8];
};

static const struct one_tree one_tree = {
    .head = {.trees = {.offset = offsetof(struct one_tree, tree), .count = 1},
             .strings_offset = offsetof(struct one_tree, strings)},
    .tree = {.source = {.length = 4},
             .target = {.length = 4},
             .flags = MUR_TREE_READ_ONLY | MUR_TREE_MAKE_TARGET},
    .strings = "/usr",
};

/* As a session composes its root: the whole of it. Without a private /proc it binds the host's. */
static int compose_root(void) {
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
    return failed(SEALED_ROOT, "mount", "/ private");
  proc_mount();
  return root_compose(&one_tree.head);
}

static int in_sealed(void) {
  return namespaces_create(CLONE_NEWNS | CLONE_NEWPID) != 0 ? -1 : as_first_process(compose_root);
}

static void stage(const char *name, int (*act)(void), int number) {
  if (as_first_process(act) == 0)
    printf(number > 0 ? "%s ok %d\n" : "%s ok\n", name, number);
  else
    printf("%s failed %s %d %s\n", name, failure()->call, failure()->error, failure()->step);
  fflush(stdout);
}

static void label(void) {
  char text[256] = "";
  int fd = open("/proc/self/attr/current", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    ssize_t got = read(fd, text, sizeof text - 1);
    text[got > 0 ? got : 0] = 0;
    text[strcspn(text, "\n")] = 0;
    close(fd);
  }
  printf("label %s\n", text);
  fflush(stdout);
}

int probe(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  int abi = landlock_abi();
  stage("landlock", in_landlock, abi > 0 ? abi : 0);
  stage("seccomp", in_seccomp, 0);
  stage("network", in_network, 0);
  stage("mounts", in_mounts, 0);
  stage("proc", in_proc, 0);
  stage("sealed", in_sealed, 0);
  stage("memfd_noexec", in_memfd, 0);
  label();
  return EXIT_OK;
}
