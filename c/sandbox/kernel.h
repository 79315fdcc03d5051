/*
 * Kernel numbers and structures that the C library's headers may lack (Debian 12's do, in part).
 * System calls from 424 on have one number on every architecture.
 */
#ifndef MUR_SANDBOX_KERNEL_H
#define MUR_SANDBOX_KERNEL_H

#include <stdint.h>

enum {
  NR_OPEN_TREE = 428,
  NR_MOVE_MOUNT = 429,
  NR_PIDFD_OPEN = 434,
  NR_CLOSE_RANGE = 436,
  NR_OPENAT2 = 437,
  NR_MOUNT_SETATTR = 442,
  NR_LANDLOCK_CREATE_RULESET = 444,
  NR_LANDLOCK_ADD_RULE = 445,
  NR_LANDLOCK_RESTRICT_SELF = 446,
};

enum {
  K_OPEN_TREE_CLONE = 1,
  K_AT_RECURSIVE = 0x8000,
  K_MOVE_MOUNT_F_EMPTY_PATH = 0x4,
  K_MOVE_MOUNT_T_EMPTY_PATH = 0x40,
  K_MOUNT_ATTR_RDONLY = 0x1,
  K_MOUNT_ATTR_NOSUID = 0x2,
  K_MOUNT_ATTR_NODEV = 0x4,
  K_MOUNT_ATTR_NOEXEC = 0x8,
  K_RESOLVE_NO_MAGICLINKS = 0x02,
  K_RESOLVE_NO_SYMLINKS = 0x04,
  K_RESOLVE_BENEATH = 0x08,
  K_CLOSE_RANGE_CLOEXEC = 0x4,
  K_LANDLOCK_CREATE_RULESET_VERSION = 1,
  K_LANDLOCK_RULE_PATH_BENEATH = 1,
  K_MFD_NOEXEC_SEAL = 0x8,
};

struct k_open_how {
  uint64_t flags;
  uint64_t mode;
  uint64_t resolve;
};

struct k_mount_attr {
  uint64_t set;
  uint64_t clear;
  uint64_t propagation;
  uint64_t userns_fd;
};

struct k_landlock_ruleset {
  uint64_t handled_access_fs;
};

struct k_landlock_path_beneath {
  uint64_t allowed_access;
  int32_t parent_fd;
} __attribute__((packed));

#endif
