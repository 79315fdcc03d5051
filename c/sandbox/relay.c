#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel.h"

/* What the command's process needs between its birth and its exec. */
struct birth {
  const struct mur_spec *spec;
  int relay_fd;
};

static char stack[65536] __attribute__((aligned(16)));
static char *arguments[MUR_MAX_ARGUMENTS + 1];
static char *variables[MUR_MAX_VARIABLES + 1];

static void point_at(const struct mur_spec *spec, struct mur_span span, char **out) {
  const struct mur_text *texts = spec_texts(spec, span);
  for (uint32_t i = 0; i < span.count; i++)
    out[i] = (char *)(uintptr_t)spec_text(spec, texts[i]); /* execve does not write to them */
  out[span.count] = NULL;
}

/* The signal follows the relay, which has one thread; a relay that died before it was asked for is
 * seen. */
static int tie_to_relay(int relay_fd) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
    return failed("parent", "prctl", "PR_SET_PDEATHSIG");
  struct pollfd relay = {.fd = relay_fd, .events = POLLIN};
  if (poll(&relay, 1, 0) != 0)
    return refused("parent", "poll", "the relay is gone", ESRCH);
  return 0;
}

static int enter_work_folder(const struct mur_spec *spec) {
  int fd = spec->cwd_fd;
  if (spec->cwd.length > 0) {
    fd = path_open_beneath(spec->cwd_fd, spec_text(spec, spec->cwd), O_PATH | O_DIRECTORY);
    if (fd < 0)
      return failed("work folder", "openat2", spec_text(spec, spec->cwd));
  }
  if (fchdir(fd) != 0)
    return failed("work folder", "fchdir", NULL);
  return 0;
}

/* The command's process, born in the session's pid namespace; order of spec/containment.md 9.3. */
static int become_command(const struct mur_spec *spec, int relay_fd) {
  if (cgroup_apply(spec) != 0 || tie_to_relay(relay_fd) != 0 || signals_reset() != 0)
    return -1;
  if (setsid() < 0)
    return failed("process group", "setsid", NULL);
  if (limits_apply(spec) != 0 || enter_work_folder(spec) != 0 || descriptors_cloexec_from(3) != 0 ||
      capabilities_apply() != 0)
    return -1;
  if ((spec->flags & MUR_FLAG_LANDLOCK) != 0 && landlock_enter(spec->ruleset_fd) != 0)
    return -1;
  if ((spec->flags & MUR_FLAG_SECCOMP) != 0 && seccomp_apply(spec->seccomp) != 0)
    return -1;
  execve(spec_text(spec, spec->program), arguments, variables);
  return failed("exec", "execve", spec_text(spec, spec->program));
}

static int born(void *argument) {
  const struct birth *birth = argument;
  become_command(birth->spec, birth->relay_fd);
  report_failure(birth->spec->report_fd);
  _exit(EXIT_SETUP);
}

static void signal_command(pid_t command, int number) {
  /* Not reaped yet, so neither number can have been given to anybody else. */
  kill(-command, number);
  kill(command, number);
}

/* Obeys the runtime until the command has ended. Without a runtime there is nobody to run it for.
 */
static void obey(int report_fd, int command_fd, pid_t command) {
  struct pollfd watched[2] = {{.fd = command_fd, .events = POLLIN},
                              {.fd = report_fd, .events = POLLIN}};
  for (;;) {
    if (poll(watched, 2, -1) < 0) {
      if (errno == EINTR)
        continue;
      signal_command(command, SIGKILL);
      return;
    }
    if (watched[0].revents != 0)
      return;
    if (watched[1].revents == 0)
      continue;
    char order = MUR_ORDER_KILL;
    ssize_t got = recv(report_fd, &order, 1, 0);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      watched[1].fd = -1;
    if (got > 0 && order == MUR_ORDER_INTERRUPT)
      kill(command, SIGINT); /* once: a second one makes some programs give up at once */
    else
      signal_command(command, got > 0 && order == MUR_ORDER_TERMINATE ? SIGTERM : SIGKILL);
  }
}

static uint64_t microseconds(struct timeval time) {
  return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

static int relay(const struct mur_spec *spec, pid_t command) {
  int command_fd = (int)syscall(NR_PIDFD_OPEN, command, 0);
  if (command_fd < 0) {
    failed("relay", "pidfd_open", NULL);
    signal_command(command, SIGKILL);
    report_failure(spec->report_fd);
    waitpid(command, NULL, 0);
    return EXIT_SETUP;
  }
  int keep[2] = {spec->report_fd, command_fd};
  if (keep[0] > keep[1]) {
    keep[0] = command_fd;
    keep[1] = spec->report_fd;
  }
  /* Above all the command's output: its reader waits for every copy of the pipes to close. */
  if (descriptors_keep(keep, 2) != 0)
    signal_command(command, SIGKILL);
  obey(spec->report_fd, command_fd, command);
  int status = 0;
  struct rusage used;
  memset(&used, 0, sizeof used);
  while (wait4(command, &status, 0, &used) < 0 && errno == EINTR)
    ;
  report_ended(spec->report_fd, status, microseconds(used.ru_utime), microseconds(used.ru_stime),
               (uint64_t)used.ru_maxrss);
  return EXIT_OK;
}

/*
 * One command. The relay stays outside the session's pid namespace and scope, so that neither a
 * full scope nor a kill in it takes the process that tells how the command ended.
 */
int run(const struct mur_spec *spec) {
  point_at(spec, spec->arguments, arguments);
  point_at(spec, spec->variables, variables);
  setpgid(0, 0); /* a terminal's interrupt is for the runtime, which then decides */
  int own_fd = (int)syscall(NR_PIDFD_OPEN, getpid(), 0);
  if (own_fd < 0)
    failed("relay", "pidfd_open", NULL);
  if (own_fd < 0 || namespaces_join(spec->holder_fd) != 0) {
    report_failure(spec->report_fd);
    return EXIT_SETUP;
  }
  /*
   * As vfork does: the relay waits until the command's program has replaced the shared memory,
   * which saves copying page tables twice. The child writes to nothing that the relay reads
   * afterwards.
   */
  struct birth birth = {.spec = spec, .relay_fd = own_fd};
  pid_t command = clone(born, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &birth);
  if (command < 0) {
    failed("relay", "clone", NULL);
    report_failure(spec->report_fd);
    return EXIT_SETUP;
  }
  return relay(spec, command);
}
