/*
 * Holds the world still for a component build, so that two builds give the same bytes.
 *
 * componentize-py runs the guest's interpreter once and stores the memory it leaves. That memory
 * holds whatever the interpreter was told about its surroundings: a random hash key, the clock,
 * times, inodes and devices of files, the order of directory entries. Loaded with LD_PRELOAD this
 * library answers the first two with constants; after still() a seccomp filter hands the system
 * calls behind the others (made without libc, so no symbol can be replaced) to a SIGSYS handler,
 * which makes the call and evens out the answer. A filter is inherited by threads made later, so
 * still() comes before any of those.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define STILL_SECONDS 1577836800 /* 2020-01-01, after the earliest time a zip can hold */
#define STILL_INODE 1
#define OWN_CALL 0x6d75726dL /* sixth argument of our own calls; none of them reads six */
#define MAX_LISTINGS 64
#define LISTING_BYTES (1 << 20)

/* ---- randomness and the clock: replaced symbols ---- */

ssize_t getrandom(void *buffer, size_t length, unsigned flags) {
  /* The same bytes each call: what a thread gets must not depend on what it asked before. */
  uint64_t state = 1;
  unsigned char *bytes = buffer;

  (void)flags;
  for (size_t i = 0; i < length; i++) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    bytes[i] = (unsigned char)(state >> 56);
  }
  return (ssize_t)length;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  (void)clock;
  now->tv_sec = STILL_SECONDS;
  now->tv_nsec = 0;
  return 0;
}

/* ---- the two machines' ways to make a system call and to read one ---- */

#if defined(__x86_64__)

#define STAT_NUMBER SYS_newfstatat
#define REGISTER_NUMBER(m) ((m)->gregs[REG_RAX])
#define REGISTER_RESULT(m) ((m)->gregs[REG_RAX])
#define REGISTER_0(m) ((m)->gregs[REG_RDI])
#define REGISTER_1(m) ((m)->gregs[REG_RSI])
#define REGISTER_2(m) ((m)->gregs[REG_RDX])
#define REGISTER_3(m) ((m)->gregs[REG_R10])
#define REGISTER_4(m) ((m)->gregs[REG_R8])

static long own_call(long number, long a, long b, long c, long d, long e) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = OWN_CALL;

  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

#elif defined(__aarch64__)

#define STAT_NUMBER 79 /* newfstatat */
#define REGISTER_NUMBER(m) ((m)->regs[8])
#define REGISTER_RESULT(m) ((m)->regs[0])
#define REGISTER_0(m) ((m)->regs[0])
#define REGISTER_1(m) ((m)->regs[1])
#define REGISTER_2(m) ((m)->regs[2])
#define REGISTER_3(m) ((m)->regs[3])
#define REGISTER_4(m) ((m)->regs[4])

static long own_call(long number, long a, long b, long c, long d, long e) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = OWN_CALL;

  __asm__ volatile("svc 0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory");
  return x0;
}

#else
#error "no system call convention for this machine"
#endif

/* ---- directory listings, sorted by name ---- */

struct entry { /* linux_dirent64 */
  uint64_t inode;
  int64_t offset;
  unsigned short length;
  unsigned char type;
  char name[];
};

struct listing {
  int used;
  int fd;
  long end; /* where the drained descriptor stands: another number means another directory */
  long count;
  long next;
  char *bytes;
  struct entry **entries;
};

static struct listing listings[MAX_LISTINGS];
static volatile int listings_lock;

static int by_name(const void *left, const void *right) {
  return strcmp((*(struct entry *const *)left)->name, (*(struct entry *const *)right)->name);
}

static void sort_entries(struct entry **entries, long count) {
  /* Shell sort: qsort may call malloc, which a signal handler must not. */
  for (long gap = count / 2; gap > 0; gap /= 2) {
    for (long i = gap; i < count; i++) {
      struct entry *moving = entries[i];
      long j = i;

      for (; j >= gap && by_name(&entries[j - gap], &moving) > 0; j -= gap)
        entries[j] = entries[j - gap];
      entries[j] = moving;
    }
  }
}

static long position(int fd) { return own_call(SYS_lseek, fd, 0, SEEK_CUR, 0, 0); }

static void forget(struct listing *listing) {
  munmap(listing->bytes, 2 * LISTING_BYTES);
  listing->used = 0;
}

static long drain(struct listing *listing, int fd) {
  long filled = 0;
  char *bytes =
      mmap(NULL, 2 * LISTING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (bytes == MAP_FAILED)
    return -ENOMEM;
  for (;;) {
    long got = own_call(SYS_getdents64, fd, (long)(bytes + filled), LISTING_BYTES - filled, 0, 0);

    if (got < 0) { /* EINVAL also when the directory is larger than the room: loud, not wrong */
      munmap(bytes, 2 * LISTING_BYTES);
      return got;
    }
    if (got == 0)
      break;
    filled += got;
  }
  *listing = (struct listing){.used = 1, .fd = fd, .end = position(fd), .bytes = bytes};
  listing->entries = (struct entry **)(bytes + LISTING_BYTES);
  for (long at = 0; at < filled; listing->count++) {
    struct entry *entry = (struct entry *)(bytes + at);

    at += entry->length;
    entry->inode = STILL_INODE;
    entry->offset = 0;
    listing->entries[listing->count] = entry;
  }
  sort_entries(listing->entries, listing->count);
  return 0;
}

static long serve(struct listing *listing, char *buffer, long room) {
  long written = 0;

  while (listing->next < listing->count) {
    struct entry *entry = listing->entries[listing->next];

    if (written + entry->length > room)
      return written ? written : -EINVAL;
    memcpy(buffer + written, entry, entry->length);
    written += entry->length;
    listing->next++;
  }
  if (written == 0)
    forget(listing);
  return written;
}

static long list_directory(int fd, char *buffer, long room) {
  struct listing *found = NULL, *spare = NULL;
  long result = 0;

  while (__sync_lock_test_and_set(&listings_lock, 1))
    ;
  for (struct listing *l = listings; l < listings + MAX_LISTINGS; l++) {
    if (l->used && l->fd == fd && l->end != position(fd))
      forget(l); /* closed half read, and its number given to another directory */
    if (l->used && l->fd == fd)
      found = l;
    else if (!l->used)
      spare = l;
  }
  if (!found) {
    found = spare;
    result = spare ? drain(spare, fd) : -ENOMEM;
  }
  if (result == 0)
    result = serve(found, buffer, room);
  __sync_lock_release(&listings_lock);
  return result;
}

/* ---- file metadata ---- */

static void still_statx(struct statx *answer) {
  const struct statx_timestamp time = {.tv_sec = STILL_SECONDS};

  answer->stx_atime = answer->stx_mtime = answer->stx_ctime = answer->stx_btime = time;
  answer->stx_ino = STILL_INODE;
  answer->stx_dev_major = answer->stx_dev_minor = 0;
  answer->stx_blksize = 4096;
  answer->stx_blocks = 0;
  answer->stx_uid = answer->stx_gid = 0;
  if (S_ISDIR(answer->stx_mode)) {
    answer->stx_size = 4096; /* a file system's own idea */
    answer->stx_nlink = 1;
  }
}

static void still_stat(struct stat *answer) {
  const struct timespec time = {.tv_sec = STILL_SECONDS};

  answer->st_atim = answer->st_mtim = answer->st_ctim = time;
  answer->st_ino = STILL_INODE;
  answer->st_dev = 0;
  answer->st_blksize = 4096;
  answer->st_blocks = 0;
  answer->st_uid = answer->st_gid = 0;
  if (S_ISDIR(answer->st_mode)) {
    answer->st_size = 4096;
    answer->st_nlink = 1;
  }
}

/* ---- the filter and its handler ---- */

static void on_trapped_call(int signal, siginfo_t *info, void *context) {
  mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
  long number = (long)REGISTER_NUMBER(machine);
  long a = (long)REGISTER_0(machine), b = (long)REGISTER_1(machine);
  long c = (long)REGISTER_2(machine), d = (long)REGISTER_3(machine);
  long e = (long)REGISTER_4(machine);
  long result;

  (void)signal;
  (void)info;
  if (number == SYS_getdents64) {
    result = list_directory((int)a, (char *)b, (unsigned)c);
  } else {
    result = own_call(number, a, b, c, d, e);
    if (result == 0 && number == SYS_statx)
      still_statx((struct statx *)e);
    else if (result == 0)
      still_stat((struct stat *)(number == SYS_fstat ? b : c));
  }
  REGISTER_RESULT(machine) = (__typeof__(REGISTER_RESULT(machine)))result;
}

/* 0, or -1 with errno set. */
int still(void) {
  struct sigaction action = {.sa_sigaction = on_trapped_call,
                             .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART | SA_ONSTACK};
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_statx, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, STAT_NUMBER, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fstat, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getdents64, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_CALL, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
  };
  struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};

  if (sigaction(SIGSYS, &action, NULL) < 0)
    return -1;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
    return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
