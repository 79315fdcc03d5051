/* One line per structure and field of the launch spec: name, size, offset. */
#include <stddef.h>
#include <stdio.h>

#include "../spec.h"

#define SIZE(type) printf(#type " %zu\n", sizeof(struct type))
#define FIELD(type, field)                                                                         \
  printf(#type "." #field " %zu %zu\n", sizeof(((struct type *)0)->field),                         \
         offsetof(struct type, field))

int main(void) {
  SIZE(mur_span);
  FIELD(mur_span, offset);
  FIELD(mur_span, count);
  SIZE(mur_text);
  FIELD(mur_text, offset);
  FIELD(mur_text, length);
  SIZE(mur_tree);
  FIELD(mur_tree, device);
  FIELD(mur_tree, inode);
  FIELD(mur_tree, source);
  FIELD(mur_tree, target);
  FIELD(mur_tree, flags);
  FIELD(mur_tree, reserved);
  SIZE(mur_rule);
  FIELD(mur_rule, device);
  FIELD(mur_rule, inode);
  FIELD(mur_rule, path);
  FIELD(mur_rule, access);
  FIELD(mur_rule, flags);
  SIZE(mur_limit);
  FIELD(mur_limit, soft);
  FIELD(mur_limit, hard);
  FIELD(mur_limit, resource);
  FIELD(mur_limit, reserved);
  SIZE(mur_spec);
  FIELD(mur_spec, magic);
  FIELD(mur_spec, version);
  FIELD(mur_spec, size);
  FIELD(mur_spec, verb);
  FIELD(mur_spec, flags);
  FIELD(mur_spec, seccomp);
  FIELD(mur_spec, report_fd);
  FIELD(mur_spec, lifeline_fd);
  FIELD(mur_spec, holder_fd);
  FIELD(mur_spec, ruleset_fd);
  FIELD(mur_spec, cwd_fd);
  FIELD(mur_spec, control_fd);
  FIELD(mur_spec, parent_pid);
  FIELD(mur_spec, scope_fds);
  FIELD(mur_spec, scope_count);
  FIELD(mur_spec, program);
  FIELD(mur_spec, cwd);
  FIELD(mur_spec, arguments);
  FIELD(mur_spec, variables);
  FIELD(mur_spec, trees);
  FIELD(mur_spec, rules);
  FIELD(mur_spec, limits);
  FIELD(mur_spec, strings_offset);
  FIELD(mur_spec, strings_length);
  FIELD(mur_spec, cwd_device);
  FIELD(mur_spec, cwd_inode);
  FIELD(mur_spec, ports);
  FIELD(mur_spec, port_count);
  FIELD(mur_spec, reserved);
  SIZE(mur_report);
  FIELD(mur_report, magic);
  FIELD(mur_report, kind);
  FIELD(mur_report, error);
  FIELD(mur_report, status);
  FIELD(mur_report, facts);
  FIELD(mur_report, reserved);
  FIELD(mur_report, user_us);
  FIELD(mur_report, system_us);
  FIELD(mur_report, max_rss_kib);
  FIELD(mur_report, step);
  FIELD(mur_report, call);
  FIELD(mur_report, argument);
  return 0;
}
