#include "sandbox.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 128, DNS_PORT = 53 };

static int bound(int type, uint32_t address, uint16_t port) {
  static char where[32];
  snprintf(where, sizeof where, "%s:%u", address == INADDR_ANY ? "0.0.0.0" : "127.0.0.1", port);
  int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return failed("listener", "socket", "AF_INET");
  struct sockaddr_in name = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(address)};
  if (bind(fd, (struct sockaddr *)&name, sizeof name) != 0) {
    failed("listener", "bind", where);
    close(fd);
    return -1;
  }
  return fd;
}

/* A TCP listener in the caller's network namespace; address and port in host order. */
int listener_open(uint32_t address, uint16_t port) {
  int fd = bound(SOCK_STREAM, address, port);
  if (fd < 0 || listen(fd, BACKLOG) == 0)
    return fd;
  failed("listener", "listen", NULL);
  close(fd);
  return -1;
}

/*
 * Every DNS query of the session arrives at one socket, whichever server was asked; the address
 * asked comes with each packet, so that the answer can be sent from it.
 */
int dns_socket_open(void) {
  int fd = bound(SOCK_DGRAM, INADDR_ANY, DNS_PORT);
  int yes = 1;
  if (fd < 0 || setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &yes, sizeof yes) == 0)
    return fd;
  failed("listener", "setsockopt", "IP_PKTINFO");
  close(fd);
  return -1;
}
