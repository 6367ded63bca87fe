/* The way to a folder that nobody else can have chosen, step by step. In C, as libmillrace_dispatch takes it
 * too; C++ uses open_private_folder.h.
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
  millrace_folder_make, /* makes what is missing, and closes the folder to others */
  millrace_folder_keep, /* changes nothing; the folder must be the caller's, and closed to writes of others */
  millrace_folder_read  /* the same, but the folder may be root's */
};

enum millrace_refusal {
  millrace_folder_missing,      /* `error` says why none is made, 0: none was to be made */
  millrace_folder_foreign,      /* belongs to `owner` */
  millrace_folder_open,         /* others may write in it */
  millrace_folder_foreign_link, /* a link of `owner`, or one in a folder where others may write */
  millrace_folder_no_folder,
  millrace_folder_unusable /* `error` says why */
};

struct millrace_folder_refusal {
  enum millrace_refusal why;
  int error;
  unsigned owner;
  char at[PATH_MAX]; /* the part of the path that is refused */
};

/* A descriptor of the folder, or -1 and why not. Of the path, which must be absolute, the first `named` bytes
 * are what the user named for this very purpose: they are followed wherever they lead. Each other part must
 * belong to the effective user or to root, and only they may write in it, unless it has the sticky bit, as
 * /tmp does. A link is followed where these rules hold for it, and never out of a sticky folder. Nothing is
 * made behind a link that leads nowhere, and the mode of what a link in the last place leads to stays. */
int millrace_walk_to_folder(const char* path, size_t named, enum millrace_folder_use use,
                            struct millrace_folder_refusal* refusal);

#ifdef __cplusplus
}
#endif

#endif
