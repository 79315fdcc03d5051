/* Looking at files below the working directory, through held descriptors and without following
 * links. */
#ifndef FILE_FACTS_WALK_H
#define FILE_FACTS_WALK_H

#include "json.h"

#define PATH_ROOM 4096
#define FOLDERS_DEEP 64

struct walk {
  int recursive;
  int hash;
  long limit;
  struct json_out *out; /* gets the entries, with commas between them */
  long shown;
  int truncated;
};

struct refusal {
  const char *kind; /* the result's error_kind */
  char message[PATH_ROOM + 256];
};

/* Tells of `path`: of a folder's entries, or of what else it is. Returns 0, or -1 and a refusal. */
int walk_path(struct walk *walk, const char *path, struct refusal *refusal);

#endif
