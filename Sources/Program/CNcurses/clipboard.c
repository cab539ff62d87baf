// Hands a text to tmux, which knows the clipboard of the terminal that it runs in.

#include "internal.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

static int spawn_tmux(int input) {
  char *arguments[] = {"tmux", "load-buffer", "-w", "-", NULL};
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return -1;
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  // Its complaints would be drawn over the screen.
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t process;
  int failure = posix_spawnp(&process, "tmux", &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  return failure == 0 ? process : -1;
}

int cknc_tmux_copy(const uint8_t *text, int count) {
  // A file instead of a pipe: writing it never waits for the other process.
  int input = memfd_create("clipboard", MFD_CLOEXEC);
  if (input < 0) return -1;
  int is_ready = cknc_write_all(input, (const char *)text, (size_t)count) == 0 && lseek(input, 0, SEEK_SET) == 0;
  int process = is_ready ? spawn_tmux(input) : -1;
  close(input);
  return process;
}

int cknc_tmux_await(int process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
