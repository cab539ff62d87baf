// A second process that gives the terminal back when the first one is killed and can do nothing more.

#include "internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

struct message {
  int is_active;
  struct cknc_restoration restoration;
};
// The kernel keeps messages of this size in one piece.
_Static_assert(sizeof(struct message) <= 4096, "A message must fit into PIPE_BUF.");

enum { GUARD_PIPE = 3, GUARD_CAPTURE = 4 };
static pid_t guard = -1;
static int pipe_end = -1;

static void show_captured(void) {
  char bytes[4096];
  off_t at = 0;
  for (ssize_t count; (count = pread(GUARD_CAPTURE, bytes, sizeof bytes, at)) > 0; at += count) {
    if (write(STDERR_FILENO, bytes, (size_t)count) != count) return;
  }
}

/// Keeps the terminal, the pipe and the captured stderr open, and nothing else: a lock on an inherited file would
/// outlive its owner.
static void keep_descriptors(int pipe) {
  int kept[] = {fcntl(cknc_capture_original(), F_DUPFD, 100), fcntl(pipe, F_DUPFD, 100),
                fcntl(cknc_capture_fd(), F_DUPFD, 100)};
  for (int i = 0; i < 3; i++) dup2(kept[i], STDERR_FILENO + i);
  if (close_range(GUARD_CAPTURE + 1, ~0U, 0) != 0) {
    for (int fd = GUARD_CAPTURE + 1; fd < 4096; fd++) close(fd);
  }
}

static void stand_guard(int pipe) {
  keep_descriptors(pipe);
  for (int number = 1; number < NSIG; number++) signal(number, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  // A group of its own, so that a signal to the whole group of the guarded does not hit the guard.
  setpgid(0, 0);
  prctl(PR_SET_NAME, "cktop-guard");

  struct message last = {0};
  struct message next;
  for (;;) {
    ssize_t count = read(GUARD_PIPE, &next, sizeof next);
    if (count < 0 && errno == EINTR) continue;
    if (count != (ssize_t)sizeof next) break;
    last = next;
  }
  if (last.is_active) {
    cknc_give_back(&last.restoration, 1);
    show_captured();
  }
  _exit(0);
}

int cknc_guard_start(void) {
  int ends[2];
  if (guard > 0) return 0;
  if (cknc_capture_prepare() != 0 || pipe2(ends, O_CLOEXEC) != 0) return -1;
  guard = fork();
  if (guard == 0) stand_guard(ends[0]);
  close(ends[0]);
  if (guard < 0) {
    close(ends[1]);
    return -1;
  }
  // A guard that was killed must not block us.
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  pipe_end = ends[1];
  return 0;
}

/// Only functions that a signal handler may call.
void cknc_guard_tell(int is_active) {
  if (pipe_end < 0) return;
  static struct message message;
  message.is_active = is_active;
  message.restoration = cknc_restoration;
  // Without a reader the write would raise SIGPIPE, which ends the program.
  struct sigaction ignore = {.sa_handler = SIG_IGN};
  struct sigaction old;
  sigaction(SIGPIPE, &ignore, &old);
  ssize_t ignored = write(pipe_end, &message, sizeof message);
  (void)ignored;
  sigaction(SIGPIPE, &old, NULL);
}

void cknc_guard_stop(void) {
  if (guard <= 0) return;
  close(pipe_end);
  pipe_end = -1;
  while (waitpid(guard, NULL, 0) < 0 && errno == EINTR) continue;
  guard = -1;
}
