#define _GNU_SOURCE
#include "millrace/base/file/private_folder_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

enum { most_links = 40, most_attempts = 100 };

struct walk {
  int at; /* O_PATH */
  struct stat status;
  char rest[PATH_MAX];
  size_t original;  /* how many bytes at the end of `rest` are not out of a link */
  bool linked_last; /* the last part of the path was a link */
  int links;
  uid_t us;
  uid_t top; /* whoever owns / rules every path: in a user namespace real root has another number */
  struct millrace_folder_refusal* refusal;
};

static bool refuse(struct walk* walk, enum millrace_refusal why, int error, uid_t owner) {
  walk->refusal->why = why;
  walk->refusal->error = error;
  walk->refusal->owner = owner;
  return false;
}

static bool is_trusted(const struct walk* walk, uid_t owner) {
  return owner == walk->us || owner == 0 || owner == walk->top;
}

/* Debian and Fedora give each user a private group with the same number. */
static bool may_others_write(const struct walk* walk, const struct stat* status) {
  const bool own_group = walk->us != 0 && status->st_uid == walk->us && status->st_gid == walk->us;
  return (status->st_mode & S_IWOTH) != 0 || ((status->st_mode & S_IWGRP) != 0 && !own_group);
}

static void replace_at(struct walk* walk, int next) {
  if (walk->at >= 0) close(walk->at);
  walk->at = next;
}

static bool is_fit_to_pass(struct walk* walk) {
  if (!is_trusted(walk, walk->status.st_uid))
    return refuse(walk, millrace_folder_foreign, EPERM, walk->status.st_uid);
  if (may_others_write(walk, &walk->status) && (walk->status.st_mode & S_ISVTX) == 0)
    return refuse(walk, millrace_folder_open, EPERM, walk->status.st_uid);
  return true;
}

static bool is_fit_to_use(struct walk* walk, enum millrace_folder_use use) {
  const struct stat* status = &walk->status;
  if (status->st_uid != walk->us && (use != millrace_folder_read || !is_trusted(walk, status->st_uid)))
    return refuse(walk, millrace_folder_foreign, EPERM, status->st_uid);
  const bool open = use == millrace_folder_read ? may_others_write(walk, status)
                                                : (status->st_mode & (S_IWGRP | S_IWOTH)) != 0;
  return (open && (use != millrace_folder_make || walk->linked_last))
             ? refuse(walk, millrace_folder_open, EPERM, status->st_uid)
             : true;
}

/* Removes the next component from the rest of the path; false if there is none. */
static bool take_part(struct walk* walk, char* part, bool* is_original) {
  char* begin = walk->rest + strspn(walk->rest, "/");
  const size_t length = strcspn(begin, "/");
  if (length == 0) return false;
  *is_original = strlen(begin) <= walk->original;
  memcpy(part, begin, length);
  part[length] = '\0';
  memmove(walk->rest, begin + length, strlen(begin + length) + 1);
  return true;
}

/* Updates the path for messages. Leaves out parts beyond PATH_MAX, because no longer path can be opened. */
static void name_part(char* at, const char* part) {
  if (strcmp(part, "..") == 0) {
    char* slash = strrchr(at, '/');
    if (slash != NULL) *slash = '\0';
    return;
  }
  const size_t used = strlen(at);
  const size_t length = strlen(part);
  if (used + length + 2 > PATH_MAX) return;
  at[used] = '/';
  memcpy(at + used + 1, part, length + 1);
}

static bool follow_link(struct walk* walk, int link, const struct stat* status) {
  if (!is_trusted(walk, status->st_uid) || may_others_write(walk, &walk->status))
    return refuse(walk, millrace_folder_foreign_link, ELOOP, status->st_uid);
  if (++walk->links > most_links) return refuse(walk, millrace_folder_unusable, ELOOP, status->st_uid);
  char target[PATH_MAX];
  const ssize_t length = readlinkat(link, "", target, sizeof target);
  const size_t rest = strlen(walk->rest);
  if (length <= 0 || (size_t)length + 1 + rest >= sizeof walk->rest)
    return refuse(walk, millrace_folder_unusable, length < 0 ? errno : ENAMETOOLONG, status->st_uid);
  if (strspn(walk->rest, "/") == rest) walk->linked_last = true;
  if (rest < walk->original) walk->original = rest;
  memmove(walk->rest + length + 1, walk->rest, rest + 1);
  memcpy(walk->rest, target, (size_t)length);
  walk->rest[length] = '/';
  if (target[0] != '/') {
    name_part(walk->refusal->at, "..");
    return true;
  }
  const int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (top < 0 || fstat(top, &walk->status) != 0) {
    const int error = errno;
    if (top >= 0) close(top);
    return refuse(walk, millrace_folder_unusable, error, 0);
  }
  replace_at(walk, top);
  walk->refusal->at[0] = '\0';
  return true;
}

static int open_part(struct walk* walk, const char* part, bool make) {
  /* Another process may remove the new, still empty folder at once. */
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    const int next = openat(walk->at, part, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (next >= 0 || errno != ENOENT || !make) return next;
    if (mkdirat(walk->at, part, S_IRWXU) != 0 && errno != EEXIST) return -1;
  }
  errno = ENOENT;
  return -1;
}

static bool step(struct walk* walk, const char* part, bool make) {
  if (strcmp(part, ".") == 0) return true;
  if (!is_fit_to_pass(walk)) return false;
  name_part(walk->refusal->at, part);
  const int next = open_part(walk, part, make);
  if (next < 0) {
    const bool missing = make ? errno != ELOOP && errno != EMFILE && errno != ENFILE : errno == ENOENT;
    return refuse(walk, missing ? millrace_folder_missing : millrace_folder_unusable,
                  make      ? errno
                  : missing ? 0
                            : errno,
                  0);
  }
  struct stat status;
  bool fine = fstat(next, &status) == 0;
  if (!fine) refuse(walk, millrace_folder_unusable, errno, 0);
  if (fine && S_ISDIR(status.st_mode)) {
    replace_at(walk, next);
    walk->status = status;
    return true;
  }
  if (fine)
    fine = S_ISLNK(status.st_mode) ? follow_link(walk, next, &status)
                                   : refuse(walk, millrace_folder_no_folder, ENOTDIR, status.st_uid);
  close(next);
  return fine;
}

static bool begin(struct walk* walk, const char* path, size_t named) {
  walk->refusal->at[0] = '\0';
  const size_t length = strlen(path);
  if (path[0] != '/' || length >= sizeof walk->rest || named > length)
    return refuse(walk, millrace_folder_unusable, path[0] != '/' ? EINVAL : ENAMETOOLONG, 0);
  struct stat top;
  if (stat("/", &top) != 0) return refuse(walk, millrace_folder_unusable, errno, 0);
  walk->top = top.st_uid;
  memcpy(walk->rest, path, length + 1);
  if (named > 0) {
    memcpy(walk->refusal->at, path, named);
    walk->refusal->at[named] = '\0';
  }
  walk->at = open(named > 0 ? walk->refusal->at : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (walk->at < 0 || fstat(walk->at, &walk->status) != 0)
    return refuse(walk, millrace_folder_unusable, errno, 0);
  /* The part that the user named is trusted. */
  if (named > 0) {
    walk->status.st_uid = walk->us;
    walk->status.st_mode &= ~(mode_t)(S_IWGRP | S_IWOTH);
    memmove(walk->rest, path + named, length - named + 1);
  }
  walk->original = strlen(walk->rest);
  return true;
}

int millrace_walk_to_folder(const char* path, size_t named, enum millrace_folder_use use,
                            struct millrace_folder_refusal* refusal) {
  struct walk walk = {.at = -1, .us = geteuid(), .refusal = refusal};
  int folder = -1;
  char part[PATH_MAX];
  bool is_original = false;
  bool fine = begin(&walk, path, named);
  while (fine && take_part(&walk, part, &is_original))
    fine = step(&walk, part, use == millrace_folder_make && is_original);
  if (fine && is_fit_to_use(&walk, use)) {
    folder = openat(walk.at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) refuse(&walk, millrace_folder_unusable, errno, 0);
  }
  /* On a read-only file system, group and other read access is harmless. */
  if (folder >= 0 && use == millrace_folder_make && !walk.linked_last &&
      (walk.status.st_mode & (S_IRWXG | S_IRWXO)) != 0 && fchmod(folder, S_IRWXU) != 0 &&
      (walk.status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    refuse(&walk, millrace_folder_open, errno, walk.us);
    close(folder);
    folder = -1;
  }
  if (walk.at >= 0) close(walk.at);
  if (refusal->at[0] == '\0') strcpy(refusal->at, "/");
  return folder;
}
