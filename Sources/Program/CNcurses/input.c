// Reads what was typed and notices when the line is gone.

#include "internal.h"

#include <poll.h>
#include <sys/ioctl.h>

int cknc_input_fd(void) { return STDIN_FILENO; }

int cknc_read(uint8_t *buffer, int capacity) {
  struct pollfd line = {.fd = STDIN_FILENO, .events = POLLIN};
  if (poll(&line, 1, 0) <= 0) return 0;
  if (line.revents & (POLLHUP | POLLERR | POLLNVAL)) return -1;
  int waiting = 0;
  // Readable with nothing to read is how a closed line looks; taking it for "no key" would spin for ever.
  if (ioctl(STDIN_FILENO, FIONREAD, &waiting) != 0 || waiting == 0) return -1;
  ssize_t count = read(STDIN_FILENO, buffer, (size_t)capacity);
  cknc_progress++;
  if (count > 0) return (int)count;
  return count < 0 && (errno == EINTR || errno == EAGAIN) ? 0 : -1;
}

int cknc_is_writable(void) {
  struct pollfd line = {.fd = STDOUT_FILENO, .events = POLLOUT};
  return poll(&line, 1, 0) == 1;
}
