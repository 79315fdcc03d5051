#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel.h"

/* The session's way out, for the runtime to serve: the DNS socket, then a listener a port. */
static int open_listeners(const struct mur_spec *spec, int *descriptors) {
  descriptors[0] = dns_socket_open();
  if (descriptors[0] < 0)
    return -1;
  for (uint32_t i = 0; i < spec->port_count; i++) {
    descriptors[i + 1] = listener_open(INADDR_ANY, spec->ports[i]);
    if (descriptors[i + 1] < 0)
      return -1;
  }
  return (int)spec->port_count + 1;
}

/* What commands see of files: the host's root with the session's mounts in it, or one composed. */
static int make_view(const struct mur_spec *spec, uint32_t *facts) {
  int composed = (spec->flags & MUR_FLAG_ROOT) != 0;
  if (!composed && (spec->flags & MUR_FLAG_MOUNTS) != 0 && root_apply(spec) != 0)
    return -1;
  if ((spec->flags & MUR_FLAG_PROC) != 0) {
    if (proc_mount() != 0 || (!composed && proc_seal() != 0))
      return -1;
    *facts |= MUR_FACT_PRIVATE_PROC;
  }
  if (!composed || root_compose(spec) == 0)
    return 0;
  const struct failure *why = failure(); /* whichever step it was: there is no root */
  return refused(SEALED_ROOT, why->call, why->argument, why->error);
}

/* The mounts and the ruleset, then word to the runtime: pidfd, work folder and, if made, the
 * ruleset; last, if asked for, the listeners. These are opened first: a composed root lies in a
 * user namespace that has no power over the network. */
static int prepare(const struct mur_spec *spec) {
  uint32_t facts = 0;
  int listeners[MUR_MAX_PORTS + 1], opened = 0;
  if (memfd_noexec() == 0)
    facts |= MUR_FACT_MEMFD_NOEXEC;
  if ((spec->flags & MUR_FLAG_EGRESS) != 0)
    opened = open_listeners(spec, listeners);
  if (opened < 0 || make_view(spec, &facts) != 0)
    return -1;
  int descriptors[MUR_MAX_HANDED], count = 0;
  descriptors[count] = (int)syscall(NR_PIDFD_OPEN, getpid(), 0);
  if (descriptors[count++] < 0)
    return failed("holder", "pidfd_open", NULL);
  const char *folder = spec_text(spec, spec->cwd);
  descriptors[count] = path_open(folder, O_PATH | O_DIRECTORY, spec->cwd_device, spec->cwd_inode);
  if (descriptors[count++] < 0)
    return failed("work folder", "openat2", folder);
  if ((spec->flags & MUR_FLAG_LANDLOCK) != 0) {
    descriptors[count] = landlock_build(spec, (facts & MUR_FACT_PRIVATE_PROC) != 0);
    if (descriptors[count++] < 0)
      return -1;
    facts |= MUR_FACT_RULESET;
  }
  for (int i = 0; i < opened; i++)
    descriptors[count++] = listeners[i];
  return report_ready(spec->report_fd, facts, descriptors, count);
}

/*
 * pid 1 of the session. Its death ends every process of the namespace, so it lives exactly as long
 * as somebody holds the other end of the lifeline: the runtime, or nobody. (A parent-death signal
 * would follow the thread that started us.) Ignoring SIGCHLD makes the kernel reap the orphans it
 * adopts.
 */
static int live(const struct mur_spec *spec) {
  struct sigaction ignore = {.sa_handler = SIG_IGN};
  sigaction(SIGCHLD, &ignore, NULL);
  if (descriptors_keep(&spec->lifeline_fd, 1) != 0)
    return EXIT_SETUP;
  struct pollfd lifeline = {.fd = spec->lifeline_fd, .events = POLLIN};
  while (poll(&lifeline, 1, -1) < 0 && errno == EINTR)
    ;
  return EXIT_OK;
}

static int first_process(const struct mur_spec *spec) {
  setsid();
  if (signals_reset() != 0 || prepare(spec) != 0) {
    report_failure(spec->report_fd);
    return EXIT_SETUP;
  }
  return live(spec);
}

/* The session's namespaces; returns in the process that the runtime started, at once. */
int hold(const struct mur_spec *spec) {
  int wanted = CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC;
  if ((spec->flags & (MUR_FLAG_MOUNTS | MUR_FLAG_PROC | MUR_FLAG_ROOT)) != 0)
    wanted |= CLONE_NEWNS;
  pid_t first = -1;
  if (namespaces_create(wanted) == 0 && network_up() == 0) {
    first = fork();
    if (first < 0)
      failed("holder", "fork", NULL);
  }
  if (first < 0) {
    report_failure(spec->report_fd);
    return EXIT_SETUP;
  }
  if (first == 0)
    _exit(first_process(spec));
  return EXIT_OK;
}
