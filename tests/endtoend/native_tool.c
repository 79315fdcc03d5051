/* A native tool for tests: says what it was given and where it ran, or does what it is told to. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char given[1 << 20];

static int told(const char *word) { return strstr(given, word) != NULL; }

static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value == NULL ? "" : value;
}

int main(int argc, char **argv) {
  size_t length = 0;
  ssize_t count;
  (void)argv;
  while ((count = read(0, given + length, sizeof given - 1 - length)) > 0)
    length += (size_t)count;
  if (told("say-nothing")) {
    fputs("a complaint", stderr);
    return 3;
  }
  if (told("say-text")) {
    puts("just words");
    return 0;
  }
  if (told("burn")) {
    for (;;) {
    }
  }
  if (told("fail")) {
    puts("{\"status\":\"failed\",\"summary\":\"told to fail\"}");
    return 0;
  }
  if (told("escape")) {
    int secret = open("/etc/shadow", O_RDONLY);
    int outside = open("/var/tmp/native-tool-was-here", O_CREAT | O_WRONLY, 0600);
    printf("{\"status\":\"passed\",\"data\":{\"secret\":%d,\"outside\":%d}}", secret >= 0,
           outside >= 0);
    return 0;
  }
  char where[4096];
  int open_beyond = 0;
  for (int each = 3; each < 64; each++)
    open_beyond += fcntl(each, F_GETFD) >= 0;
  if (getcwd(where, sizeof where) == NULL)
    return 1;
  printf("{\"status\":\"passed\",\"summary\":\"s\",\"data\":{\"arguments\":%d,\"cwd\":\"%s\","
         "\"home\":\"%s\",\"key\":\"%s\",\"config\":\"%s\",\"open\":%d,\"given\":%zu},"
         "\"metadata\":{\"state_effect\":\"read\",\"resource_id\":\"r1\"}}",
         argc, where, variable("HOME"), variable("OPENAI_API_KEY"),
         variable("MURMUR_ARTIFACT_CONFIG"), open_beyond, length);
  return 0;
}
