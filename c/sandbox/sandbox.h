/* What the files of the helper offer each other: one block per file, one file per mechanism. */
#ifndef MUR_SANDBOX_H
#define MUR_SANDBOX_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "spec.h"

#define MUR_HELPER_VERSION "1"

/* spec.c: the only reader of untrusted offsets. */
const char *spec_check(const void *base, size_t length,
                       uint32_t verb);                  /* NULL: sound; else the reason */
const struct mur_spec *spec_map(int fd, uint32_t verb); /* NULL: see failure() */
const char *spec_text(const struct mur_spec *spec, struct mur_text text);
const struct mur_text *spec_texts(const struct mur_spec *spec, struct mur_span span);
const struct mur_tree *spec_trees(const struct mur_spec *spec);
const struct mur_rule *spec_rules(const struct mur_spec *spec);
const struct mur_limit *spec_limits(const struct mur_spec *spec);

/* report.c: what failed, with words; and telling the runtime. */
struct failure {
  const char *step;
  const char *call;
  const char *argument; /* may be NULL */
  int error;
};
int failed(const char *step, const char *call,
           const char *argument); /* remembers errno; always -1 */
int refused(const char *step, const char *call, const char *argument, int error);
const struct failure *failure(void);
void report_failure(int fd);
int report_ready(int fd, uint32_t facts, const int *descriptors, int count);
void report_ended(int fd, int status, uint64_t user_us, uint64_t system_us, uint64_t max_rss_kib);

/* paths.c: opening by name without trusting names. */
int path_open(const char *path, int flags, uint64_t device, uint64_t inode);
int path_open_beneath(int directory, const char *path, int flags);

/* trees.c: parts of the host, copied detached and attached elsewhere. */
int tree_copy(const char *step, int fd, uint64_t attributes, const char *name);
int tree_attach(const char *step, int copy, int point, const char *name);
int trees_clone(const char *step, const struct mur_spec *spec);
int trees_attach(const char *step, const struct mur_spec *spec, int root);
extern const char SEALED_ROOT[]; /* the step of all that composes a root; root.c */

/* The mechanisms, in the order in which a command meets them. 0, or -1 and failure(). */
int cgroup_apply(const struct mur_spec *spec);
int limits_apply(const struct mur_spec *spec);
int namespaces_create(int flags);
int namespaces_join(int holder_fd);
int network_up(void);
int listener_open(uint32_t address, uint16_t port);
int dns_socket_open(void);
int memfd_noexec(void);
int root_apply(const struct mur_spec *spec);
int root_seal(void);
int root_compose(const struct mur_spec *spec);
int devices_apply(void);
int proc_mount(void);
int proc_seal(void);
int descriptors_null(void);
int descriptors_close_from(int first);
int descriptors_keep(const int *keep, int count);
int descriptors_cloexec_from(int first);
int signals_reset(void);
int capabilities_apply(void);
int landlock_abi(void);
int landlock_build(const struct mur_spec *spec, int private_proc);
int landlock_enter(int ruleset);
int seccomp_build(uint32_t audit_arch, uint32_t options, struct sock_filter *out, int room);
int seccomp_apply(uint32_t options);

/* The verbs. Each returns the process's exit status. */
int run(const struct mur_spec *spec);
int hold(const struct mur_spec *spec);
int guests(const struct mur_spec *spec);
int probe(void);

/* lockdown.c, in the shared library. */
int mur_lockdown(int spec_fd, char *error, size_t error_length);
int mur_filter(uint32_t audit_arch, uint32_t options, struct sock_filter *out, int room);

enum {
  EXIT_OK = 0,
  EXIT_USAGE = 2,
  EXIT_SETUP = 125,
  SECCOMP_ROOM = 512, /* spec/containment.md 11 */
  /* pidfd, work folder, ruleset; the DNS socket and the listeners */
  MUR_MAX_HANDED = 3 + 1 + MUR_MAX_PORTS,
};

#endif
