#ifndef CPOWERCUT_H
#define CPOWERCUT_H

/// What SQLite is about to do to a file.
enum powercut_call {
  POWERCUT_CREATE = 0,
  POWERCUT_READ,
  POWERCUT_WRITE,
  POWERCUT_TRUNCATE,
  POWERCUT_SYNC,
  POWERCUT_DELETE,
};

/// Asked before each call. `count` is the number of bytes, for a truncation the new size, for a sync or a deletion
/// whether the file's entry in its folder is made durable too. Returns 0 to let the call go on, or the SQLite error it
/// is to fail with.
typedef int (*powercut_witness)(enum powercut_call call, const char *path, long long offset, const void *bytes,
                                long long count);

/// Whether the calls on a file are to be witnessed; the others go straight to the system.
typedef int (*powercut_filter)(const char *path);

/// Puts the witness between SQLite and the system's files, for every connection opened from now on.
int powercut_install(powercut_witness witness, powercut_filter filter);

/// The errors a witness may answer with, which are macros of SQLite's.
extern const int powercut_error_read, powercut_error_write, powercut_error_sync, powercut_error_full;

#endif
