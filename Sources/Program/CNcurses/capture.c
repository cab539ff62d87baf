// Keeps what is written to stderr off the screen, and shows it when the screen is given back.

#include "internal.h"

#include <fcntl.h>
#include <sys/mman.h>

/// The newest part that is kept.
#define KEPT (64 * 1024)

static int file = -1;
static int original = -1;
static volatile sig_atomic_t is_capturing;

int cknc_capture_prepare(void) {
  if (file < 0) file = memfd_create("stderr", MFD_CLOEXEC);
  if (original < 0) original = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  return file < 0 || original < 0 ? -1 : 0;
}

void cknc_capture_start(void) {
  if (is_capturing || dup2(file, STDERR_FILENO) < 0) return;
  is_capturing = 1;
}

/// Only functions that a signal handler may call.
void cknc_capture_replay(void) {
  if (!is_capturing) return;
  is_capturing = 0;
  dup2(original, STDERR_FILENO);
  char bytes[4096];
  off_t end = lseek(file, 0, SEEK_END);
  for (off_t at = 0; at < end;) {
    ssize_t count = pread(file, bytes, sizeof bytes, at);
    if (count <= 0 || cknc_write_patiently(STDERR_FILENO, bytes, (size_t)count) != 0) return;
    at += count;
  }
}

void cknc_capture_stop(void) {
  cknc_capture_replay();
  if (ftruncate(file, 0) == 0) lseek(file, 0, SEEK_SET);
}

/// A program that complains for weeks must not fill the memory: only the newest part is kept.
void cknc_capture_trim(void) {
  static char bytes[KEPT];
  off_t end = lseek(file, 0, SEEK_CUR);
  if (end < 4 * KEPT) return;
  ssize_t count = pread(file, bytes, KEPT, end - KEPT);
  if (count > 0 && ftruncate(file, 0) == 0 && pwrite(file, bytes, (size_t)count, 0) == count) {
    lseek(file, count, SEEK_SET);
  }
}

int cknc_capture_fd(void) { return file; }

int cknc_capture_original(void) { return original; }
