/*
 * The system calls that a command may make (spec/containment.md 11), with their numbers on both
 * architectures. The table is our own: headers of a distribution lag behind kernels. -1: does not
 * exist there.
 */
#ifndef MUR_SANDBOX_SECCOMP_TABLE_H
#define MUR_SANDBOX_SECCOMP_TABLE_H

#include <stdint.h>

struct allowed_call {
  int16_t x86_64;
  int16_t aarch64;
};

/* clang-format off */
static const struct allowed_call allowed_calls[] = {
    /* opening and closing files */
    {2, -1}, /* open */
    {257, 56}, /* openat */
    {437, 437}, /* openat2 */
    {85, -1}, /* creat */
    {3, 57}, /* close */
    {436, 436}, /* close_range */
    {32, 23}, /* dup */
    {33, -1}, /* dup2 */
    {292, 24}, /* dup3 */
    {72, 25}, /* fcntl */
    {73, 32}, /* flock */
    {16, 29}, /* ioctl */
    {303, 264}, /* name_to_handle_at */
    /* reading and writing */
    {0, 63}, /* read */
    {1, 64}, /* write */
    {19, 65}, /* readv */
    {20, 66}, /* writev */
    {17, 67}, /* pread64 */
    {18, 68}, /* pwrite64 */
    {295, 69}, /* preadv */
    {296, 70}, /* pwritev */
    {327, 286}, /* preadv2 */
    {328, 287}, /* pwritev2 */
    {8, 62}, /* lseek */
    {40, 71}, /* sendfile */
    {326, 285}, /* copy_file_range */
    {275, 76}, /* splice */
    {276, 77}, /* tee */
    {278, 75}, /* vmsplice */
    {187, 213}, /* readahead */
    {221, 223}, /* fadvise64 */
    /* flushing and sizing */
    {74, 82}, /* fsync */
    {75, 83}, /* fdatasync */
    {162, 81}, /* sync */
    {306, 267}, /* syncfs */
    {277, 84}, /* sync_file_range */
    {285, 47}, /* fallocate */
    {76, 45}, /* truncate */
    {77, 46}, /* ftruncate */
    /* metadata */
    {4, -1}, /* stat */
    {5, 80}, /* fstat */
    {6, -1}, /* lstat */
    {262, 79}, /* newfstatat */
    {332, 291}, /* statx */
    {137, 43}, /* statfs */
    {138, 44}, /* fstatfs */
    {21, -1}, /* access */
    {269, 48}, /* faccessat */
    {439, 439}, /* faccessat2 */
    {89, -1}, /* readlink */
    {267, 78}, /* readlinkat */
    {78, -1}, /* getdents */
    {217, 61}, /* getdents64 */
    {90, -1}, /* chmod */
    {91, 52}, /* fchmod */
    {268, 53}, /* fchmodat */
    {452, 452}, /* fchmodat2 */
    {92, -1}, /* chown */
    {93, 55}, /* fchown */
    {94, -1}, /* lchown */
    {260, 54}, /* fchownat */
    {95, 166}, /* umask */
    {132, -1}, /* utime */
    {235, -1}, /* utimes */
    {261, -1}, /* futimesat */
    {280, 88}, /* utimensat */
    /* names */
    {83, -1}, /* mkdir */
    {258, 34}, /* mkdirat */
    {84, -1}, /* rmdir */
    {133, -1}, /* mknod */
    {259, 33}, /* mknodat */
    {86, -1}, /* link */
    {265, 37}, /* linkat */
    {88, -1}, /* symlink */
    {266, 36}, /* symlinkat */
    {87, -1}, /* unlink */
    {263, 35}, /* unlinkat */
    {82, -1}, /* rename */
    {264, 38}, /* renameat */
    {316, 276}, /* renameat2 */
    {80, 49}, /* chdir */
    {81, 50}, /* fchdir */
    {79, 17}, /* getcwd */
    /* extended attributes */
    {191, 8}, /* getxattr */
    {192, 9}, /* lgetxattr */
    {193, 10}, /* fgetxattr */
    {188, 5}, /* setxattr */
    {189, 6}, /* lsetxattr */
    {190, 7}, /* fsetxattr */
    {194, 11}, /* listxattr */
    {195, 12}, /* llistxattr */
    {196, 13}, /* flistxattr */
    {197, 14}, /* removexattr */
    {198, 15}, /* lremovexattr */
    {199, 16}, /* fremovexattr */
    /* polling and events */
    {7, -1}, /* poll */
    {271, 73}, /* ppoll */
    {23, -1}, /* select */
    {270, 72}, /* pselect6 */
    {213, -1}, /* epoll_create */
    {291, 20}, /* epoll_create1 */
    {233, 21}, /* epoll_ctl */
    {232, -1}, /* epoll_wait */
    {281, 22}, /* epoll_pwait */
    {441, 441}, /* epoll_pwait2 */
    {284, -1}, /* eventfd */
    {290, 19}, /* eventfd2 */
    {282, -1}, /* signalfd */
    {289, 74}, /* signalfd4 */
    {283, 85}, /* timerfd_create */
    {286, 86}, /* timerfd_settime */
    {287, 87}, /* timerfd_gettime */
    {253, -1}, /* inotify_init */
    {294, 26}, /* inotify_init1 */
    {254, 27}, /* inotify_add_watch */
    {255, 28}, /* inotify_rm_watch */
    {22, -1}, /* pipe */
    {293, 59}, /* pipe2 */
    /* legacy asynchronous I/O */
    {206, 0}, /* io_setup */
    {207, 1}, /* io_destroy */
    {209, 2}, /* io_submit */
    {210, 3}, /* io_cancel */
    {208, 4}, /* io_getevents */
    /* memory */
    {12, 214}, /* brk */
    {9, 222}, /* mmap */
    {11, 215}, /* munmap */
    {25, 216}, /* mremap */
    {10, 226}, /* mprotect */
    {28, 233}, /* madvise */
    {27, 232}, /* mincore */
    {26, 227}, /* msync */
    {149, 228}, /* mlock */
    {325, 284}, /* mlock2 */
    {150, 229}, /* munlock */
    {151, 230}, /* mlockall */
    {152, 231}, /* munlockall */
    {319, 279}, /* memfd_create */
    {324, 283}, /* membarrier */
    {330, 289}, /* pkey_alloc */
    {331, 290}, /* pkey_free */
    {329, 288}, /* pkey_mprotect */
    /* processes */
    {57, -1}, /* fork */
    {58, -1}, /* vfork */
    {56, 220}, /* clone */
    {435, 435}, /* clone3 */
    {59, 221}, /* execve */
    {322, 281}, /* execveat */
    {60, 93}, /* exit */
    {231, 94}, /* exit_group */
    {61, 260}, /* wait4 */
    {247, 95}, /* waitid */
    {62, 129}, /* kill */
    {200, 130}, /* tkill */
    {234, 131}, /* tgkill */
    {434, 434}, /* pidfd_open */
    {424, 424}, /* pidfd_send_signal */
    {157, 167}, /* prctl */
    {158, -1}, /* arch_prctl */
    {334, 293}, /* rseq */
    {218, 96}, /* set_tid_address */
    {273, 99}, /* set_robust_list */
    {274, 100}, /* get_robust_list */
    {202, 98}, /* futex */
    {449, 449}, /* futex_waitv */
    {219, 128}, /* restart_syscall */
    /* signals */
    {13, 134}, /* rt_sigaction */
    {14, 135}, /* rt_sigprocmask */
    {127, 136}, /* rt_sigpending */
    {15, 139}, /* rt_sigreturn */
    {130, 133}, /* rt_sigsuspend */
    {128, 137}, /* rt_sigtimedwait */
    {129, 138}, /* rt_sigqueueinfo */
    {297, 240}, /* rt_tgsigqueueinfo */
    {131, 132}, /* sigaltstack */
    {34, -1}, /* pause */
    {37, -1}, /* alarm */
    /* identities */
    {39, 172}, /* getpid */
    {110, 173}, /* getppid */
    {186, 178}, /* gettid */
    {102, 174}, /* getuid */
    {107, 175}, /* geteuid */
    {104, 176}, /* getgid */
    {108, 177}, /* getegid */
    {118, 148}, /* getresuid */
    {120, 150}, /* getresgid */
    {115, 158}, /* getgroups */
    {116, 159}, /* setgroups */
    {105, 146}, /* setuid */
    {106, 144}, /* setgid */
    {113, 145}, /* setreuid */
    {114, 143}, /* setregid */
    {117, 147}, /* setresuid */
    {119, 149}, /* setresgid */
    {122, 151}, /* setfsuid */
    {123, 152}, /* setfsgid */
    {121, 155}, /* getpgid */
    {111, -1}, /* getpgrp */
    {109, 154}, /* setpgid */
    {124, 156}, /* getsid */
    {112, 157}, /* setsid */
    {125, 90}, /* capget */
    {126, 91}, /* capset */
    /* scheduling and limits */
    {24, 124}, /* sched_yield */
    {204, 123}, /* sched_getaffinity */
    {203, 122}, /* sched_setaffinity */
    {143, 121}, /* sched_getparam */
    {142, 118}, /* sched_setparam */
    {145, 120}, /* sched_getscheduler */
    {144, 119}, /* sched_setscheduler */
    {315, 275}, /* sched_getattr */
    {314, 274}, /* sched_setattr */
    {146, 125}, /* sched_get_priority_max */
    {147, 126}, /* sched_get_priority_min */
    {148, 127}, /* sched_rr_get_interval */
    {140, 141}, /* getpriority */
    {141, 140}, /* setpriority */
    {252, 31}, /* ioprio_get */
    {251, 30}, /* ioprio_set */
    {309, 168}, /* getcpu */
    {97, 163}, /* getrlimit */
    {160, 164}, /* setrlimit */
    {302, 261}, /* prlimit64 */
    {98, 165}, /* getrusage */
    {100, 153}, /* times */
    {99, 179}, /* sysinfo */
    {63, 160}, /* uname */
    /* time */
    {201, -1}, /* time */
    {96, 169}, /* gettimeofday */
    {228, 113}, /* clock_gettime */
    {229, 114}, /* clock_getres */
    {230, 115}, /* clock_nanosleep */
    {35, 101}, /* nanosleep */
    {36, 102}, /* getitimer */
    {38, 103}, /* setitimer */
    {222, 107}, /* timer_create */
    {226, 111}, /* timer_delete */
    {224, 108}, /* timer_gettime */
    {223, 110}, /* timer_settime */
    {225, 109}, /* timer_getoverrun */
    /* random */
    {318, 278}, /* getrandom */
    /* SysV and POSIX IPC */
    {29, 194}, /* shmget */
    {30, 196}, /* shmat */
    {67, 197}, /* shmdt */
    {31, 195}, /* shmctl */
    {64, 190}, /* semget */
    {65, 193}, /* semop */
    {66, 191}, /* semctl */
    {220, 192}, /* semtimedop */
    {68, 186}, /* msgget */
    {69, 189}, /* msgsnd */
    {70, 188}, /* msgrcv */
    {71, 187}, /* msgctl */
    {240, 180}, /* mq_open */
    {241, 181}, /* mq_unlink */
    {242, 182}, /* mq_timedsend */
    {243, 183}, /* mq_timedreceive */
    {244, 184}, /* mq_notify */
    {245, 185}, /* mq_getsetattr */
    /* sockets */
    {49, 200}, /* bind */
    {50, 201}, /* listen */
    {43, 202}, /* accept */
    {288, 242}, /* accept4 */
    {42, 203}, /* connect */
    {51, 204}, /* getsockname */
    {52, 205}, /* getpeername */
    {55, 209}, /* getsockopt */
    {54, 208}, /* setsockopt */
    {48, 210}, /* shutdown */
    {44, 206}, /* sendto */
    {45, 207}, /* recvfrom */
    {46, 211}, /* sendmsg */
    {47, 212}, /* recvmsg */
    {307, 269}, /* sendmmsg */
    {299, 243}, /* recvmmsg */
    {53, 199}, /* socketpair */
    {41, 198}, /* socket */
};
/* clang-format on */

#endif
