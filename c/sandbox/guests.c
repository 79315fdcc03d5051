#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONTROL = 3 };

static char *arguments[MUR_MAX_ARGUMENTS + 1];

/* The runtime starts the zygote from its main thread, so the signal follows the runtime's life. */
static int tie_to_runtime(int32_t parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
    return failed("parent", "prctl", "PR_SET_PDEATHSIG");
  if (parent != 0 && getppid() != parent)
    return refused("parent", "getppid", "the runtime is gone", ESRCH);
  return 0;
}

/* The control socket at 3, close-on-exec from 4: the report socket works until exec. */
static int arrange_descriptors(int control, int *report) {
  if (*report == CONTROL) {
    *report = fcntl(*report, F_DUPFD_CLOEXEC, CONTROL + 1);
    if (*report < 0)
      return failed("descriptors", "fcntl", "report");
  }
  if (control != CONTROL && dup2(control, CONTROL) < 0)
    return failed("descriptors", "dup2", "control");
  return descriptors_cloexec_from(CONTROL + 1);
}

static int become_zygote(const struct mur_spec *spec, int *report) {
  const struct mur_text *texts = spec_texts(spec, spec->arguments);
  for (uint32_t i = 0; i < spec->arguments.count; i++)
    arguments[i] = (char *)(uintptr_t)spec_text(spec, texts[i]);
  if ((spec->flags & MUR_FLAG_NAMESPACES) != 0 &&
      (namespaces_create(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) != 0 || network_up() != 0))
    return -1;
  int socket_fd = listener_open(INADDR_LOOPBACK, 0);
  if (socket_fd < 0 || report_ready(*report, 0, &socket_fd, 1) != 0)
    return -1;
  if (tie_to_runtime(spec->parent_pid) != 0 || signals_reset() != 0 ||
      arrange_descriptors(spec->control_fd, report) != 0)
    return -1;
  char *nothing[] = {NULL};
  execve(spec_text(spec, spec->program), arguments, nothing);
  return failed("exec", "execve", spec_text(spec, spec->program));
}

/*
 * The guests' zygote, in namespaces of its own. The listener belongs to their network and is served
 * by the runtime: it is the guests' only way out.
 */
int guests(const struct mur_spec *spec) {
  int report = spec->report_fd;
  setsid();
  become_zygote(spec, &report);
  report_failure(report);
  return EXIT_SETUP;
}
