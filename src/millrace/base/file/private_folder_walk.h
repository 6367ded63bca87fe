/* Walks step by step to a folder that no other user can redirect. In C, because libmillrace_dispatch uses it
 * too. C++ code uses private_folder.h.
 *
 *   struct millrace_folder_refusal refusal;
 *   const int folder = millrace_walk_to_folder("/run/user/1000/millrace", 0, millrace_folder_keep, &refusal);
 */
#ifndef MILLRACE_BASE_PRIVATE_FOLDER_WALK_H
#define MILLRACE_BASE_PRIVATE_FOLDER_WALK_H

#include <limits.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum millrace_folder_use {
  millrace_folder_make, /* creates missing folders and closes the folder to other users */
  millrace_folder_keep, /* changes nothing; the folder must be the caller's and not writable for others */
  millrace_folder_read  /* like keep, but the folder may be root's */
};

enum millrace_refusal {
  millrace_folder_missing,      /* `error` says why it was not created; 0: it must not be created */
  millrace_folder_foreign,      /* belongs to `owner` */
  millrace_folder_open,         /* writable for other users */
  millrace_folder_foreign_link, /* a link of `owner`, or a link in a folder that others can write */
  millrace_folder_no_folder,
  millrace_folder_unusable /* `error` says why */
};

struct millrace_folder_refusal {
  enum millrace_refusal why;
  int error;
  unsigned owner;
  char at[PATH_MAX]; /* the refused component of the path */
};

/* Returns a descriptor of the folder, or -1 and the reason. The path must be absolute. The user named its
 * first `named` bytes for this purpose, so they are followed wherever they lead. Each other component must
 * belong to the effective user or root, and only these may write in it, unless it has the sticky bit like
 * /tmp. A link is followed if it satisfies the same rules, and never out of a sticky folder. Nothing is
 * created behind a dangling link. If the last component is a link, the mode of its target stays unchanged. */
int millrace_walk_to_folder(const char* path, size_t named, enum millrace_folder_use use,
                            struct millrace_folder_refusal* refusal);

#ifdef __cplusplus
}
#endif

#endif
