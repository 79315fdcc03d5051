#include "sandbox.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct failure last;

int refused(const char *step, const char *call, const char *argument, int error) {
  last = (struct failure){.step = step, .call = call, .argument = argument, .error = error};
  return -1;
}

int failed(const char *step, const char *call, const char *argument) {
  return refused(step, call, argument, errno);
}

const struct failure *failure(void) { return &last; }

static void copy(char *to, size_t room, const char *from) {
  if (from == NULL)
    return;
  size_t length = strnlen(from, room - 1);
  memcpy(to, from, length);
  to[length] = 0;
}

void report_failure(int fd) {
  struct mur_report report = {.magic = MUR_REPORT_MAGIC, .kind = MUR_REPORT_FAILED};
  report.error = last.error;
  copy(report.step, sizeof report.step, last.step);
  copy(report.call, sizeof report.call, last.call);
  copy(report.argument, sizeof report.argument, last.argument);
  /* Nobody to tell if this fails: the exit status still says that nothing was executed. */
  (void)!send(fd, &report, sizeof report, MSG_NOSIGNAL);
}

void report_ended(int fd, int status, uint64_t user_us, uint64_t system_us, uint64_t max_rss_kib) {
  struct mur_report report = {
      .magic = MUR_REPORT_MAGIC, .kind = MUR_REPORT_ENDED, .status = status};
  report.user_us = user_us;
  report.system_us = system_us;
  report.max_rss_kib = max_rss_kib;
  (void)!send(fd, &report, sizeof report, MSG_NOSIGNAL);
}

int report_ready(int fd, uint32_t facts, const int *descriptors, int count) {
  struct mur_report report = {.magic = MUR_REPORT_MAGIC, .kind = MUR_REPORT_READY, .facts = facts};
  struct iovec part = {.iov_base = &report, .iov_len = sizeof report};
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(MUR_MAX_HANDED * sizeof(int))];
  } control = {0};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (count > 0) {
    message.msg_control = &control;
    message.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
    memcpy(CMSG_DATA(header), descriptors, (size_t)count * sizeof(int));
  }
  if (sendmsg(fd, &message, MSG_NOSIGNAL) < 0)
    return failed("report", "sendmsg", NULL);
  return 0;
}
