#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel.h"

enum {
  ABI_BUILT_FOR = 3, /* spec/containment.md 10 */
  FILE_ACCESS = MUR_ACCESS_EXECUTE | MUR_ACCESS_WRITE_FILE | MUR_ACCESS_READ_FILE |
      MUR_ACCESS_TRUNCATE,
};

/* The kernel's ABI, or -1 and errno. */
int landlock_abi(void) {
  return (int)syscall(NR_LANDLOCK_CREATE_RULESET, NULL, 0, K_LANDLOCK_CREATE_RULESET_VERSION);
}

static uint64_t handled(int abi) {
  uint64_t rights = MUR_ACCESS_ALL;
  if (abi < 3)
    rights &= ~(uint64_t)MUR_ACCESS_TRUNCATE;
  if (abi < 2)
    rights &= ~(uint64_t)MUR_ACCESS_REFER;
  return rights;
}

static int add_rule(int ruleset, const char *path, int fd, uint64_t access) {
  struct stat info;
  if (fstat(fd, &info) != 0)
    return failed("landlock", "fstat", path);
  /* The kernel rejects a folder's rights on a file, and a rule that grants nothing. */
  if (!S_ISDIR(info.st_mode))
    access &= FILE_ACCESS;
  if (access == 0)
    return 0;
  struct k_landlock_path_beneath rule = {.allowed_access = access, .parent_fd = fd};
  if (syscall(NR_LANDLOCK_ADD_RULE, ruleset, K_LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
    return failed("landlock", "landlock_add_rule", path);
  return 0;
}

/* A ruleset with the spec's rules; its descriptor, or -1 and failure(). */
int landlock_build(const struct mur_spec *spec, int private_proc) {
  int abi = landlock_abi();
  if (abi < 1)
    return failed("landlock", "landlock_create_ruleset", "version");
  struct k_landlock_ruleset attributes = {.handled_access_fs =
                                              handled(abi < ABI_BUILT_FOR ? abi : ABI_BUILT_FOR)};
  int ruleset = (int)syscall(NR_LANDLOCK_CREATE_RULESET, &attributes, sizeof attributes, 0);
  if (ruleset < 0)
    return failed("landlock", "landlock_create_ruleset", NULL);
  const struct mur_rule *rules = spec_rules(spec);
  for (uint32_t i = 0; i < spec->rules.count; i++) {
    const char *path = spec_text(spec, rules[i].path);
    if ((rules[i].flags & MUR_RULE_PRIVATE_PROC) != 0 && !private_proc)
      continue;
    int fd = path_open(path, O_PATH, rules[i].device, rules[i].inode);
    if (fd < 0 && (rules[i].flags & MUR_RULE_OPTIONAL) != 0)
      continue;
    if (fd < 0) {
      failed("landlock", "openat2", path);
      close(ruleset);
      return -1;
    }
    int added = add_rule(ruleset, path, fd, rules[i].access & attributes.handled_access_fs);
    close(fd);
    if (added != 0) {
      close(ruleset);
      return -1;
    }
  }
  return ruleset;
}

int landlock_enter(int ruleset) {
  if (syscall(NR_LANDLOCK_RESTRICT_SELF, ruleset, 0) != 0)
    return failed("landlock", "landlock_restrict_self", NULL);
  return 0;
}
