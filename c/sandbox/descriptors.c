#include "sandbox.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel.h"

static int close_range_or_fail(unsigned first, unsigned last, unsigned flags) {
  if (first > last)
    return 0;
  if (syscall(NR_CLOSE_RANGE, first, last, flags) != 0)
    return failed("descriptors", "close_range", NULL);
  return 0;
}

int descriptors_close_from(int first) { return close_range_or_fail((unsigned)first, UINT_MAX, 0); }

/* Nothing inherited survives exec, yet the report socket works until then. */
int descriptors_cloexec_from(int first) {
  return close_range_or_fail((unsigned)first, UINT_MAX, K_CLOSE_RANGE_CLOEXEC);
}

/* Closes everything except the given descriptors, which must be in ascending order. */
int descriptors_keep(const int *keep, int count) {
  unsigned first = 0;
  for (int i = 0; i < count; i++) {
    if (keep[i] > 0 && close_range_or_fail(first, (unsigned)keep[i] - 1, 0) != 0)
      return -1;
    first = (unsigned)keep[i] + 1;
  }
  return close_range_or_fail(first, UINT_MAX, 0);
}

/*
 * Ignored signals and a blocked mask outlive exec: Python ignores SIGPIPE and SIGXFSZ. The raw call
 * also reaches the two signals that the C library keeps to itself and ignores in what it spawns.
 */
int signals_reset(void) {
  static const uint64_t normal[4]; /* the kernel's struct sigaction: SIG_DFL, no flags, no mask */
  for (int number = 1; number <= 64; number++)
    if (number != SIGKILL && number != SIGSTOP &&
        syscall(SYS_rt_sigaction, number, normal, NULL, sizeof(uint64_t)) != 0)
      return failed("signals", "rt_sigaction", NULL);
  sigset_t none;
  sigemptyset(&none);
  if (sigprocmask(SIG_SETMASK, &none, NULL) != 0)
    return failed("signals", "sigprocmask", NULL);
  return 0;
}
