#include "sandbox.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel.h"
#include "seccomp_table.h"

enum {
  NUMBERS = 512, /* no call of either architecture has a higher number yet; those are refused */
  X32_BIT = 0x40000000,        /* the other ABI that shares x86-64's audit architecture */
  NEW_NAMESPACES = 0x7e020000, /* CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET} */
  THREAD = 0x00010000,         /* CLONE_THREAD */
  SET_ID_BITS = 06000,         /* S_ISUID and S_ISGID */
};

/* Numbers of the calls that the filter treats one by one. */
struct special {
  int socket, socketpair, clone, clone3, memfd_create, fork, vfork, execve, execveat;
  int chmod, fchmod, fchmodat, fchmodat2;
  int tgkill, prlimit64;
  int signals[6]; /* kill, tkill, rt_sigqueueinfo, rt_tgsigqueueinfo, pidfd_send_signal, pidfd_open
                   */
};

static const struct special x86_64 = {
    41,  53, 56, 435, 319, 57,  58,  59,
    322, 90, 91, 268, 452, 234, 302, {62, 200, 129, 297, 424, 434}};
static const struct special aarch64 = {
    198, 199, 220, 435, 279, -1,  -1,  221,
    281, -1,  52,  53,  452, 131, 261, {129, 130, 138, 240, 424, 434}};

struct program {
  struct sock_filter *code;
  int length;
  int room;
};

static void emit(struct program *program, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf) {
  if (program->length < program->room)
    program->code[program->length] = (struct sock_filter){.code = code, .jt = jt, .jf = jf, .k = k};
  program->length++;
}

static void load(struct program *program, size_t offset) {
  emit(program, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void give(struct program *program, uint32_t action) {
  emit(program, BPF_RET | BPF_K, action, 0, 0);
}

static uint32_t with_errno(int error) { return SECCOMP_RET_ERRNO | (uint32_t)error; }

static size_t low_word(int argument) {
  return offsetof(struct seccomp_data, args) + (size_t)argument * 8; /* both are little-endian */
}

/* Spec/containment.md 18: which socket() domains exist for a command. */
static void socket_rules(struct program *program, int number, uint32_t options) {
  int unix_sockets = (options & MUR_SECCOMP_UNIX_SOCKETS) != 0;
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 11);
  load(program, low_word(0));
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 0, 1);
  give(program, SECCOMP_RET_ALLOW);
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1);
  give(program, SECCOMP_RET_ALLOW);
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 0, 1);
  give(program, unix_sockets ? SECCOMP_RET_ALLOW : with_errno(EACCES));
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 1, 0);
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, AF_PACKET, 0, 1);
  give(program, with_errno(EACCES));
  give(program, with_errno(EPERM));
}

/*
 * One half of a datagram pair can be connected to any path socket of the host, such as the system
 * log's, with neither socket() nor a Landlock right. Pairs of streams and of sequenced packets are
 * connected for good.
 */
static void pair_rules(struct program *program, int number) {
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 6);
  load(program, low_word(1));
  emit(program, BPF_ALU | BPF_AND | BPF_K, 0xf, 0, 0); /* the kernel's SOCK_TYPE_MASK */
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 1, 0);
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, SOCK_SEQPACKET, 0, 1);
  give(program, SECCOMP_RET_ALLOW);
  give(program, with_errno(EACCES));
}

/*
 * A program that a command marks set-user-id in the work folder would give whoever runs it outside
 * the operator's power. Writing to a file clears the bits, so only those that set them on a
 * finished one are asked.
 */
static void mode_rules(struct program *program, int number, int argument) {
  if (number < 0)
    return;
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 4);
  load(program, low_word(argument));
  emit(program, BPF_JMP | BPF_JSET | BPF_K, SET_ID_BITS, 1, 0);
  give(program, SECCOMP_RET_ALLOW);
  give(program, with_errno(EPERM));
}

/* A command makes processes and threads but no namespaces; a guest host makes threads alone. */
static void clone_rules(struct program *program, int number, uint32_t options) {
  int guest = (options & MUR_SECCOMP_GUEST) != 0;
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, guest ? 6 : 4);
  load(program, low_word(0));
  emit(program, BPF_JMP | BPF_JSET | BPF_K, NEW_NAMESPACES, guest ? 2 : 1, 0);
  if (guest)
    emit(program, BPF_JMP | BPF_JSET | BPF_K, THREAD, 0, 1);
  if (guest) {
    give(program, SECCOMP_RET_ALLOW);
    give(program, with_errno(EPERM));
    give(program, with_errno(EPERM));
    return;
  }
  give(program, SECCOMP_RET_ALLOW);
  give(program, with_errno(EPERM));
}

static void one_errno(struct program *program, int number, int error) {
  if (number < 0)
    return;
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1);
  give(program, with_errno(error));
}

static void own_process_only(struct program *program, int number, uint32_t self) {
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 4);
  load(program, low_word(0));
  emit(program, BPF_JMP | BPF_JEQ | BPF_K, self, 0, 1);
  give(program, SECCOMP_RET_ALLOW);
  give(program, with_errno(EPERM));
}

/*
 * A guest host runs beside the operator's other processes, as the operator: it must not end them,
 * by a signal or by a limit. Threads of its own it may signal, as abort() does.
 */
static void guest_rules(struct program *program, const struct special *special) {
  one_errno(program, special->fork, EPERM);
  one_errno(program, special->vfork, EPERM);
  one_errno(program, special->execve, EPERM);
  one_errno(program, special->execveat, EPERM);
  for (size_t i = 0; i < sizeof special->signals / sizeof *special->signals; i++)
    one_errno(program, special->signals[i], EPERM);
  own_process_only(program, special->tgkill, (uint32_t)getpid());
  own_process_only(program, special->prlimit64, 0);
}

/*
 * edges[i] are the numbers at which the verdict changes, ascending; below edges[0] it is `refuse`.
 * A balanced tree keeps each evaluation at about eight steps: the kernel runs the filter over every
 * number when it is installed.
 */
static void tree(struct program *program, const int *edges, int first, int end) {
  if (first == end) {
    give(program, first % 2 == 1 ? SECCOMP_RET_ALLOW : with_errno(EPERM));
    return;
  }
  int middle = first + (end - first) / 2;
  int node = program->length;
  emit(program, BPF_JMP | BPF_JGE | BPF_K, (uint32_t)edges[middle], 0, 0);
  tree(program, edges, first, middle);
  int distance = program->length - node - 1;
  if (distance > 255)
    program->length = program->room + 1; /* does not fit; found by seccomp_build's caller */
  else if (node < program->room)
    program->code[node].jt = (uint8_t)distance;
  tree(program, edges, middle + 1, end);
}

static int find_edges(uint32_t audit_arch, int *edges) {
  static uint8_t allowed[NUMBERS];
  for (int number = 0; number < NUMBERS; number++)
    allowed[number] = 0;
  for (size_t i = 0; i < sizeof allowed_calls / sizeof *allowed_calls; i++) {
    int number =
        audit_arch == AUDIT_ARCH_X86_64 ? allowed_calls[i].x86_64 : allowed_calls[i].aarch64;
    if (number >= 0)
      allowed[number] = 1;
  }
  int count = 0, state = 0;
  for (int number = 0; number < NUMBERS; number++)
    if (allowed[number] != state) {
      edges[count++] = number;
      state = allowed[number];
    }
  if (state != 0)
    edges[count++] = NUMBERS;
  return count;
}

/* Writes the filter; its length in instructions, or -1 if there is no room or no such architecture.
 */
int seccomp_build(uint32_t audit_arch, uint32_t options, struct sock_filter *out, int room) {
  static int edges[NUMBERS + 1];
  if (audit_arch != AUDIT_ARCH_X86_64 && audit_arch != AUDIT_ARCH_AARCH64)
    return -1;
  const struct special *special = audit_arch == AUDIT_ARCH_X86_64 ? &x86_64 : &aarch64;
  struct program program = {.code = out, .room = room};
  load(&program, offsetof(struct seccomp_data, arch));
  emit(&program, BPF_JMP | BPF_JEQ | BPF_K, audit_arch, 1, 0);
  give(&program, SECCOMP_RET_KILL_PROCESS);
  load(&program, offsetof(struct seccomp_data, nr));
  if (audit_arch == AUDIT_ARCH_X86_64) {
    emit(&program, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
    give(&program, SECCOMP_RET_KILL_PROCESS);
  }
  socket_rules(&program, special->socket, options);
  if ((options & MUR_SECCOMP_UNIX_SOCKETS) == 0)
    pair_rules(&program, special->socketpair);
  mode_rules(&program, special->chmod, 1);
  mode_rules(&program, special->fchmod, 1);
  mode_rules(&program, special->fchmodat, 2);
  mode_rules(&program, special->fchmodat2, 2);
  clone_rules(&program, special->clone, options);
  /* Its flags lie in memory that a filter cannot read; a libc that sees ENOSYS falls back to clone.
   */
  one_errno(&program, special->clone3, ENOSYS);
  if ((options & MUR_SECCOMP_NO_MEMFD) != 0)
    one_errno(&program, special->memfd_create, EPERM);
  if ((options & MUR_SECCOMP_GUEST) != 0)
    guest_rules(&program, special);
  tree(&program, edges, 0, find_edges(audit_arch, edges));
  return program.length <= room ? program.length : -1;
}

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#else
#error "no table of system calls for this architecture"
#endif

/* Needs no_new_privs. The log flag is best effort. */
int seccomp_apply(uint32_t options) {
  static struct sock_filter code[SECCOMP_ROOM];
  int length = seccomp_build(OWN_ARCH, options, code, SECCOMP_ROOM);
  if (length < 0)
    return refused("seccomp", "build", NULL, E2BIG);
  struct sock_fprog program = {.len = (unsigned short)length, .filter = code};
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_LOG, &program) == 0)
    return 0;
  if (errno == EINVAL && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0)
    return 0;
  return failed("seccomp", "seccomp", NULL);
}
