/*
 * The launch spec: everything that one start of mur-sandbox is told, in one block of memory.
 *
 * The runtime lays it out through cffi from this same header and hands over a descriptor of a
 * memfd. The helper maps it read-only and checks every offset before it looks at anything else
 * (spec.c).
 *
 *   struct mur_spec | arrays of fixed-size records | string area
 *
 * All fields have a fixed width and little to no padding; offsets of arrays count from the start of
 * the spec, offsets of texts from the start of the string area. A text is followed by a NUL that
 * its length does not count, and holds none.
 *
 * Constants are enumerators, not macros, so that they survive the preprocessor on the way to cffi.
 */
#ifndef MUR_SANDBOX_SPEC_H
#define MUR_SANDBOX_SPEC_H

#ifndef MUR_SPEC_CDEF
#include <stdint.h>
#endif

enum {
  MUR_SPEC_MAGIC = 0x3172756d, /* "mur1" */
  MUR_SPEC_VERSION = 1,
  MUR_SPEC_MAX_BYTES = 16777216,
  MUR_REPORT_MAGIC = 0x3272756d, /* "mur2" */
};

/* How many records of each kind one spec may hold; what the helper keeps per record is static. */
enum {
  MUR_MAX_ARGUMENTS = 16384,
  MUR_MAX_VARIABLES = 8192,
  MUR_MAX_TREES = 1024,
  MUR_MAX_RULES = 16384,
  MUR_MAX_LIMITS = 16,
  MUR_MAX_SCOPES = 8,
  MUR_MAX_PORTS = 16,
};

enum mur_verb {
  MUR_VERB_RUN = 1,      /* one command inside a held session */
  MUR_VERB_HOLD = 2,     /* the session's namespaces, mounts and Landlock ruleset */
  MUR_VERB_GUESTS = 3,   /* the guests' zygote */
  MUR_VERB_LOCKDOWN = 4, /* mur_lockdown() in a guest host */
};

/* mur_spec.flags */
enum {
  MUR_FLAG_NAMESPACES =
      1, /* guests: make namespaces; without it the listener is on the host's loopback */
  MUR_FLAG_MOUNTS = 2,   /* hold: a mount namespace with the trees of the spec */
  MUR_FLAG_PROC = 4,     /* hold: a private /proc */
  MUR_FLAG_LANDLOCK = 8, /* hold: make a ruleset; run, lockdown: enter it */
  MUR_FLAG_SECCOMP = 16, /* run, lockdown: install the filter */
  MUR_FLAG_ROOT = 32,    /* hold: a root composed of nothing but the trees of the spec */
  MUR_FLAG_EGRESS = 64,  /* hold: a DNS socket and a listener for each port of the spec */
  MUR_FLAGS = 127,
};

/* mur_spec.seccomp */
enum {
  MUR_SECCOMP_UNIX_SOCKETS = 1, /* socket(AF_UNIX) is allowed */
  MUR_SECCOMP_NO_MEMFD = 2, /* memfd_create is refused: no vm.memfd_noexec in this pid namespace */
  MUR_SECCOMP_GUEST = 4,    /* a guest host: threads, but neither processes nor exec */
  MUR_SECCOMP_OPTIONS = 7,
};

/* Filesystem rights of a rule; the numbers are Landlock's own. */
enum {
  MUR_ACCESS_EXECUTE = 1,
  MUR_ACCESS_WRITE_FILE = 2,
  MUR_ACCESS_READ_FILE = 4,
  MUR_ACCESS_READ_DIR = 8,
  MUR_ACCESS_REMOVE_DIR = 16,
  MUR_ACCESS_REMOVE_FILE = 32,
  MUR_ACCESS_MAKE_CHAR = 64,
  MUR_ACCESS_MAKE_DIR = 128,
  MUR_ACCESS_MAKE_REG = 256,
  MUR_ACCESS_MAKE_SOCK = 512,
  MUR_ACCESS_MAKE_FIFO = 1024,
  MUR_ACCESS_MAKE_BLOCK = 2048,
  MUR_ACCESS_MAKE_SYM = 4096,
  MUR_ACCESS_REFER = 8192,
  MUR_ACCESS_TRUNCATE = 16384,
  MUR_ACCESS_ALL = 32767,
};

struct mur_span { /* an array of records */
  uint32_t offset;
  uint32_t count;
};

struct mur_text {
  uint32_t offset;
  uint32_t length;
};

/* mur_tree.flags */
enum {
  MUR_TREE_NOEXEC = 1,
  MUR_TREE_READ_ONLY = 2,
  MUR_TREE_MAKE_TARGET =
      4, /* the mount point lies in a tree attached before: make the folders to it */
  MUR_TREE_OPTIONAL = 8, /* left out when the source is missing */
  MUR_TREE_LINK = 16,    /* a symbolic link instead: `source` is what it says */
  MUR_TREE_FLAGS = 31,
};

struct mur_tree {  /* a folder or file of the host, attached in the session's mount namespace */
  uint64_t device; /* of the source, as the runtime holds it; both 0: not compared */
  uint64_t inode;
  struct mur_text source;
  struct mur_text target;
  uint32_t flags;
  uint32_t reserved;
};

/* mur_rule.flags */
enum {
  MUR_RULE_OPTIONAL = 1,     /* dropped when the path does not open */
  MUR_RULE_PRIVATE_PROC = 2, /* only where a private /proc was mounted */
  MUR_RULE_FLAGS = 3,
};

struct mur_rule { /* a Landlock rule */
  uint64_t device;
  uint64_t inode;
  struct mur_text path;
  uint32_t access;
  uint32_t flags;
};

struct mur_limit { /* setrlimit; values above the inherited hard limit are clamped to it */
  uint64_t soft;
  uint64_t hard;
  uint32_t resource;
  uint32_t reserved;
};

struct mur_spec {
  uint32_t magic;
  uint32_t version;
  uint32_t size; /* bytes of the whole spec */
  uint32_t verb;
  uint32_t flags;
  uint32_t seccomp;
  int32_t report_fd;    /* SOCK_SEQPACKET: reports out; of run also orders in */
  int32_t lifeline_fd;  /* hold: read end; its end of file ends the session */
  int32_t holder_fd;    /* run: pidfd of the session's pid 1 */
  int32_t ruleset_fd;   /* run: Landlock ruleset made by hold */
  int32_t cwd_fd;       /* run: the work folder through the session's mounts, sent by hold */
  int32_t control_fd;   /* guests: becomes descriptor 3 */
  int32_t parent_pid;   /* guests: the runtime; another parent means that it is gone */
  int32_t scope_fds[8]; /* run: cgroup.procs, one per hierarchy */
  uint32_t scope_count;
  struct mur_text program;   /* run, guests: what to execute, absolute */
  struct mur_text cwd;       /* run: below cwd_fd, or empty; hold: the work folder, absolute */
  struct mur_span arguments; /* of mur_text */
  struct mur_span variables; /* of mur_text, NAME=value */
  struct mur_span trees;     /* of mur_tree, in the order of attaching */
  struct mur_span rules;     /* of mur_rule */
  struct mur_span limits;    /* of mur_limit */
  uint32_t strings_offset;
  uint32_t strings_length;
  uint64_t cwd_device; /* hold: of the work folder, as the runtime holds it */
  uint64_t cwd_inode;
  uint16_t ports[16]; /* hold: to listen on at every IPv4 address of the session's network */
  uint32_t port_count;
  uint32_t reserved;
};

/* mur_report.kind */
enum mur_report_kind {
  MUR_REPORT_READY = 1,  /* hold: descriptors pidfd, work folder[, ruleset]; guests: listener */
  MUR_REPORT_FAILED = 2, /* a step failed; nothing was executed */
  MUR_REPORT_ENDED = 3,  /* run: the command's wait status and use of resources */
};

/* mur_report.facts, with READY */
enum {
  MUR_FACT_PRIVATE_PROC = 1,
  MUR_FACT_MEMFD_NOEXEC = 2,
  MUR_FACT_RULESET = 4,
};

/* One byte from the runtime to a running `run`; end of file means MUR_ORDER_KILL. */
enum {
  MUR_ORDER_INTERRUPT = 73, /* 'I': SIGINT to the command alone */
  MUR_ORDER_TERMINATE = 84, /* 'T': SIGTERM to the command's process group */
  MUR_ORDER_KILL = 75,      /* 'K': SIGKILL */
};

struct mur_report {
  uint32_t magic;
  uint32_t kind;
  int32_t error; /* errno of the failing call */
  int32_t status;
  uint32_t facts;
  uint32_t reserved;
  uint64_t user_us;
  uint64_t system_us;
  uint64_t max_rss_kib;
  char step[32];
  char call[40];
  char argument[896];
};

#endif
