#include "sandbox.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int write_file(const char *step, const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return failed(step, "open", path);
  ssize_t length = (ssize_t)strlen(text);
  if (write(fd, text, (size_t)length) != length) {
    failed(step, "write", path);
    close(fd);
    return -1;
  }
  close(fd);
  return 0;
}

/* One identity line each: the command is in its namespace who the runtime is outside. */
static int map_identity(uid_t uid, gid_t gid) {
  char uid_line[40], gid_line[40];
  snprintf(uid_line, sizeof uid_line, "%u %u 1", uid, uid);
  snprintf(gid_line, sizeof gid_line, "%u %u 1", gid, gid);
  if (write_file("id map", "/proc/self/setgroups", "deny") != 0 ||
      write_file("id map", "/proc/self/uid_map", uid_line) != 0)
    return -1;
  return write_file("id map", "/proc/self/gid_map", gid_line);
}

/* A user namespace and, owned by it, those that flags name (CLONE_NEW*). */
int namespaces_create(int flags) {
  uid_t uid = geteuid();
  gid_t gid = getegid();
  if (unshare(CLONE_NEWUSER | flags) != 0)
    return failed("namespaces", "unshare", NULL);
  return map_identity(uid, gid);
}

/*
 * All of a session's namespaces in one call, by the pidfd of its pid 1. The caller stays in its own
 * pid namespace; its next child is born in the session's. Root and current folder become the
 * session's.
 */
int namespaces_join(int holder_fd) {
  int flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC;
  if (setns(holder_fd, flags) != 0)
    return failed("namespaces", "setns", "session");
  return 0;
}

static int loopback_up(void) {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return failed("network", "socket", "AF_INET");
  struct ifreq request = {.ifr_name = "lo"};
  int done = ioctl(fd, SIOCGIFFLAGS, &request);
  if (done == 0) {
    request.ifr_flags = (short)(request.ifr_flags | IFF_UP | IFF_RUNNING);
    done = ioctl(fd, SIOCSIFFLAGS, &request);
  }
  if (done != 0)
    failed("network", "ioctl", "lo up");
  close(fd);
  return done;
}

struct route_request {
  struct nlmsghdr header;
  struct rtmsg route;
  struct rtattr attribute;
  uint32_t interface;
};

struct route_answer {
  struct nlmsghdr header;
  struct nlmsgerr error;
};

/* The default route of table local, so that every IPv4 destination is this very host. */
static int local_route(void) {
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0)
    return failed("network", "socket", "AF_NETLINK");
  struct route_request request = {
      .header = {.nlmsg_len = sizeof request,
                 .nlmsg_type = RTM_NEWROUTE,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
                 .nlmsg_seq = 1},
      .route = {.rtm_family = AF_INET,
                .rtm_table = RT_TABLE_LOCAL,
                .rtm_protocol = RTPROT_BOOT,
                .rtm_scope = RT_SCOPE_HOST,
                .rtm_type = RTN_LOCAL},
      .attribute = {.rta_len = RTA_LENGTH(sizeof(uint32_t)), .rta_type = RTA_OIF},
      .interface = if_nametoindex("lo"),
  };
  struct {
    struct route_answer answer;
    char rest[512];
  } reply = {0};
  int result = -1;
  if (send(fd, &request, sizeof request, 0) != (ssize_t)sizeof request)
    failed("network", "send", "route");
  else if (recv(fd, &reply, sizeof reply, 0) <
           (ssize_t)sizeof(struct nlmsghdr) + (ssize_t)sizeof(int))
    failed("network", "recv", "route");
  else if (reply.answer.header.nlmsg_type != NLMSG_ERROR || reply.answer.error.error != 0)
    refused("network", "RTM_NEWROUTE", "local 0.0.0.0/0 dev lo", -reply.answer.error.error);
  else
    result = 0;
  close(fd);
  return result;
}

int network_up(void) { return loopback_up() != 0 ? -1 : local_route(); }

/*
 * From here on memfd_create in this pid namespace makes nothing that can be executed. The caller is
 * pid 1; the file belongs to the host's root, so an ordinary user gets EACCES and the filter
 * refuses the call.
 */
int memfd_noexec(void) { return write_file("memfd", "/proc/sys/vm/memfd_noexec", "2"); }
