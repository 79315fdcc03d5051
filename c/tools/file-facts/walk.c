#include "walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "content.h"
#include "sha256.h"

static int refuse(struct refusal *refusal, const char *kind, const char *path, const char *reason) {
  refusal->kind = kind;
  snprintf(refusal->message, sizeof refusal->message, "%s %s", path, reason);
  return -1;
}

static int failed(struct refusal *refusal, const char *call, const char *path) {
  int error = errno;
  const char *kind = error == ENOENT || error == ENOTDIR ? "not_found"
                     : error == EACCES || error == EPERM ? "permission_denied"
                                                         : "io_error";
  refusal->kind = kind;
  snprintf(refusal->message, sizeof refusal->message, "%s: %s: %s", path, call, strerror(error));
  return -1;
}

static void put_member(struct json_out *out, const char *name, const char *text) {
  json_put(out, ",\"");
  json_put(out, name);
  json_put(out, "\":");
  json_put_text(out, text);
}

/* Kind and hash of a file that was regular when it was looked at. What cannot be read is said. */
static void put_content(struct walk *walk, int folder, const char *name) {
  /* Without O_NONBLOCK a pipe that took its place would hold the tool. */
  int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  struct stat facts;
  if (file < 0) {
    put_member(walk->out, "unreadable", strerror(errno));
    return;
  }
  if (fstat(file, &facts) < 0 || !S_ISREG(facts.st_mode)) {
    put_member(walk->out, "unreadable", "it changed while it was looked at");
    close(file);
    return;
  }
  static unsigned char bytes[1 << 16];
  struct sha256 hash;
  char words[96] = "";
  sha256_begin(&hash);
  ssize_t count;
  int first = 1;
  while ((count = read(file, bytes, walk->hash ? sizeof bytes : CONTENT_BYTES)) > 0) {
    if (first) {
      size_t seen = (size_t)count < CONTENT_BYTES ? (size_t)count : CONTENT_BYTES;
      content_kind(bytes, seen, facts.st_size <= (off_t)seen, words, sizeof words);
      first = 0;
    }
    if (!walk->hash)
      break;
    sha256_add(&hash, bytes, (size_t)count);
  }
  if (count < 0) {
    put_member(walk->out, "unreadable", strerror(errno));
  } else {
    if (first)
      content_kind(bytes, 0, 1, words, sizeof words);
    put_member(walk->out, "content", words);
    if (walk->hash) {
      char hex[65];
      sha256_end(&hash, hex);
      put_member(walk->out, "sha256", hex);
    }
  }
  close(file);
}

static const char *kind_of(mode_t mode) {
  return S_ISREG(mode)    ? "file"
         : S_ISDIR(mode)  ? "directory"
         : S_ISLNK(mode)  ? "link"
         : S_ISFIFO(mode) ? "pipe"
         : S_ISSOCK(mode) ? "socket"
                          : "device";
}

/* Returns 0 when the limit is reached. */
static int put_entry(struct walk *walk, int folder, const char *name, const char *path,
                     const struct stat *facts) {
  if (walk->shown == walk->limit) {
    walk->truncated = 1;
    return 0;
  }
  json_put(walk->out, walk->shown++ > 0 ? ",{\"path\":" : "{\"path\":");
  json_put_text(walk->out, path);
  put_member(walk->out, "kind", kind_of(facts->st_mode));
  char mode[8];
  snprintf(mode, sizeof mode, "%04o", (unsigned)facts->st_mode & 07777);
  put_member(walk->out, "mode", mode);
  char when[32];
  struct tm parts;
  if (gmtime_r(&facts->st_mtime, &parts) != NULL &&
      strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &parts) > 0)
    put_member(walk->out, "modified", when);
  if (S_ISREG(facts->st_mode)) {
    json_put(walk->out, ",\"bytes\":");
    json_put_number(walk->out, facts->st_size);
    put_content(walk, folder, name);
  }
  if (S_ISLNK(facts->st_mode)) {
    char target[PATH_ROOM];
    ssize_t length = readlinkat(folder, name, target, sizeof target - 1);
    if (length >= 0) {
      target[length] = 0;
      put_member(walk->out, "target", target);
    }
  }
  json_put(walk->out, "}");
  return 1;
}

static int by_name(const void *one, const void *other) {
  return strcmp(*(char *const *)one, *(char *const *)other);
}

/* The names in a folder, in order. Returns how many, or -1. */
static long list(int folder, char ***names) {
  int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *stream = copy < 0 ? NULL : fdopendir(copy);
  if (stream == NULL) {
    if (copy >= 0)
      close(copy);
    return -1;
  }
  long count = 0;
  long room = 0;
  *names = NULL;
  struct dirent *entry;
  errno = 0;
  while ((entry = readdir(stream)) != NULL) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
      continue;
    if (count == room) {
      room = room == 0 ? 64 : room * 2;
      char **grown = realloc(*names, (size_t)room * sizeof **names);
      if (grown == NULL)
        break;
      *names = grown;
    }
    if (((*names)[count] = strdup(entry->d_name)) == NULL)
      break;
    count++;
    errno = 0;
  }
  int error = entry != NULL ? ENOMEM : errno;
  closedir(stream);
  if (error != 0) {
    while (count > 0)
      free((*names)[--count]);
    free(*names);
    errno = error;
    return -1;
  }
  if (count > 0)
    qsort(*names, (size_t)count, sizeof **names, by_name);
  return count;
}

/* Returns 0 when the limit is reached, -1 where the folder cannot be listed. */
static int walk_folder(struct walk *walk, int folder, const char *path, int depth) {
  char **names;
  long count = list(folder, &names);
  if (count < 0)
    return -1;
  int going = 1;
  for (long each = 0; each < count; each++) {
    char below[PATH_ROOM];
    struct stat facts;
    int length = snprintf(below, sizeof below, "%s%s%s", strcmp(path, ".") == 0 ? "" : path,
                          strcmp(path, ".") == 0 ? "" : "/", names[each]);
    if (going && length < (int)sizeof below &&
        fstatat(folder, names[each], &facts, AT_SYMLINK_NOFOLLOW) == 0) {
      going = put_entry(walk, folder, names[each], below, &facts);
      if (going && walk->recursive && S_ISDIR(facts.st_mode) && depth < FOLDERS_DEEP) {
        int inner = openat(folder, names[each], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inner >= 0) {
          /* One that cannot be listed hides what it holds, and is itself told of. */
          going = walk_folder(walk, inner, below, depth + 1) != 0;
          close(inner);
        }
      }
    }
    free(names[each]);
  }
  if (count > 0)
    free(names);
  return going;
}

int walk_path(struct walk *walk, const char *path, struct refusal *refusal) {
  if (path[0] == '/')
    return refuse(refusal, "absolute_path", path,
                  "is an absolute path; name it relative to the work folder");
  char reached[PATH_ROOM] = "";
  char name[PATH_ROOM] = ".";
  int folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0)
    return failed(refusal, "open", ".");
  for (const char *at = path; *at != 0;) {
    size_t length = strcspn(at, "/");
    if (length == 2 && strncmp(at, "..", 2) == 0) {
      close(folder);
      return refuse(refusal, "outside_workdir", path, "leads upwards; name it without ..");
    }
    if (length > 0 && !(length == 1 && *at == '.')) {
      if (strcmp(name, ".") != 0) {
        int inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int error = errno;
        close(folder);
        errno = error;
        if (inner < 0)
          return failed(refusal, "open", reached);
        folder = inner;
      }
      snprintf(name, sizeof name, "%.*s", (int)length, at);
      size_t held = strlen(reached);
      int added =
          snprintf(reached + held, sizeof reached - held, "%s%s", held > 0 ? "/" : "", name);
      if (added < 0 || (size_t)added >= sizeof reached - held) {
        close(folder);
        return refuse(refusal, "invalid_input", "path", "is too long");
      }
    }
    at += length;
    at += strspn(at, "/");
  }
  struct stat facts;
  int status = fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW);
  if (status < 0) {
    status = failed(refusal, "stat", path);
  } else if (!S_ISDIR(facts.st_mode)) {
    put_entry(walk, folder, name, reached, &facts);
  } else {
    int inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    status = inner < 0 ? -1 : walk_folder(walk, inner, reached[0] == 0 ? "." : reached, 0);
    status = status < 0 ? failed(refusal, "open", path) : 0;
    if (inner >= 0)
      close(inner);
  }
  close(folder);
  return status < 0 ? -1 : 0;
}
