// Takes the terminal over and gives it back.

#include "internal.h"

#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>

volatile sig_atomic_t cknc_is_active;
static int is_ascii;
static SCREEN *screen;

int cknc_write_all(int fd, const char *bytes, size_t count) {
  while (count > 0) {
    ssize_t written = write(fd, bytes, count);
    cknc_progress++;
    if (written < 0) {
      if (errno == EINTR && cknc_unanswered == 0) continue;
      if (errno != EAGAIN) return -1;
      struct pollfd line = {.fd = fd, .events = POLLOUT};
      if (poll(&line, 1, 1000) <= 0) return -1;
      continue;
    }
    bytes += written;
    count -= (size_t)written;
  }
  return 0;
}

/// Only functions that a signal handler may call.
int cknc_write_patiently(int fd, const char *bytes, size_t count) {
  // A write that waits would wait for as long as the line is stalled, and no signal ends it: threads that serve queues
  // block signals.
  int flags = fcntl(fd, F_GETFL);
  if (flags >= 0) fcntl(fd, F_SETFL, flags | O_NONBLOCK);
  struct pollfd line = {.fd = fd, .events = POLLOUT};
  while (count > 0 && poll(&line, 1, 200) == 1 && !(line.revents & (POLLHUP | POLLERR | POLLNVAL))) {
    ssize_t written = write(fd, bytes, count);
    if (written < 0) break;
    bytes += written;
    count -= (size_t)written;
  }
  if (flags >= 0) fcntl(fd, F_SETFL, flags);
  return count == 0 ? 0 : -1;
}

/// Only functions that a signal handler may call.
void cknc_give_back(const struct cknc_restoration *r, int only_if_ours) {
  cknc_write_patiently(STDOUT_FILENO, r->text, r->length);
  struct termios now;
  // The guard comes late: a shell that has set its own modes meanwhile knows better.
  if (only_if_ours && tcgetattr(STDOUT_FILENO, &now) == 0 && now.c_lflag != r->ours.c_lflag) return;
  tcsetattr(STDOUT_FILENO, TCSANOW, &r->shell);
}

/// UTF-8 unless the user chose something else: a locale that is not installed, or none at all, is no choice.
static void choose_locale(void) {
  const char *wish = getenv("LC_ALL");
  if (wish == NULL || *wish == '\0') wish = getenv("LC_CTYPE");
  if (wish == NULL || *wish == '\0') wish = getenv("LANG");
  int is_set = setlocale(LC_CTYPE, "") != NULL;
  if (!is_set || wish == NULL || *wish == '\0') setlocale(LC_CTYPE, "C.UTF-8");
  is_ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
}

static void set_raw(void) {
  cknc_restoration.ours = cknc_restoration.shell;
  cfmakeraw(&cknc_restoration.ours);
  cknc_restoration.ours.c_cc[VMIN] = 1;
  cknc_restoration.ours.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSADRAIN, &cknc_restoration.ours);
}

int cknc_open(int options) {
  if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) return CKNC_NOT_A_TERMINAL;
  const char *term = getenv("TERM");
  if (term == NULL || *term == '\0') return CKNC_TERM_UNSET;
  cknc_signals_save();
  if (cknc_await_foreground() != 0) return CKNC_NOT_A_TERMINAL;
  if (tcgetattr(STDIN_FILENO, &cknc_restoration.shell) != 0) return CKNC_SYSTEM_ERROR;
  choose_locale();
  if (cknc_frame_open() != 0 || cknc_capture_prepare() != 0) return CKNC_SYSTEM_ERROR;

  // LINES and COLUMNS would freeze the size.
  use_env(FALSE);
  int status;
  screen = cknc_newterm(term, options, &status);
  if (screen == NULL) {
    cknc_signals_remove();
    return status;
  }

  set_escdelay(25);
  raw();
  noecho();
  nonl();
  nodelay(stdscr, TRUE);
  scrollok(stdscr, FALSE);
  // Frames are never held back because keys are waiting.
  typeahead(-1);
  cknc_colors_start(options);
  cknc_build_restoration();
  if (cknc_signals_install() != 0) {
    cknc_signals_remove();
    endwin();
    delscreen(screen);
    screen = NULL;
    return CKNC_SYSTEM_ERROR;
  }
  set_raw();
  cknc_capture_start();
  cknc_is_active = 1;
  cknc_guard_tell(1);
  cknc_add(cknc_enter_modes);
  cknc_resize();
  cknc_cursor(-1, 0);
  static int is_registered;
  if (!is_registered) is_registered = atexit(cknc_close) == 0;
  return CKNC_OK;
}

void cknc_leave(void) {
  if (!cknc_is_active) return;
  // ncurses has to know, but its own words are dropped: saying them and ours would leave the second screen twice.
  endwin();
  cknc_frame_drop();
  cknc_economy_forget();
  cknc_give_back(&cknc_restoration, 0);
  cknc_is_active = 0;
  cknc_guard_tell(0);
  cknc_capture_stop();
}

int cknc_enter(void) {
  if (cknc_is_active) return 0;
  if (cknc_await_foreground() != 0) return -1;
  if (tcgetattr(STDIN_FILENO, &cknc_restoration.shell) != 0) return -1;
  set_raw();
  cknc_capture_start();
  cknc_is_active = 1;
  cknc_guard_tell(1);
  reset_prog_mode();
  cknc_add(cknc_enter_modes);
  cknc_resize();
  cknc_redraw();
  return 0;
}

void cknc_close(void) {
  if (screen == NULL) return;
  cknc_leave();
  cknc_signals_remove();
  cknc_guard_stop();
  delscreen(screen);
  screen = NULL;
}

int cknc_is_ascii(void) { return is_ascii; }

int cknc_examine(int options, int *colors, int *has_ascii_only) {
  *colors = 0;
  choose_locale();
  *has_ascii_only = is_ascii;
  const char *term = getenv("TERM");
  return term == NULL || *term == '\0' ? CKNC_TERM_UNSET : cknc_look_up(term, options, colors);
}

const char *cknc_version(void) { return curses_version(); }
