// What the files of this target share.

#ifndef CKNC_INTERNAL_H
#define CKNC_INTERNAL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define NCURSES_WIDECHAR 1

#include "CNcurses.h"

#include <curses.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/// All that is needed to give the terminal back without help: by a signal handler, or by the guard process.
struct cknc_restoration {
  struct termios shell;
  struct termios ours;
  size_t length;
  char text[512];
};

extern struct cknc_restoration cknc_restoration;
/// 1 while the terminal is ours. A signal handler reads it.
extern volatile sig_atomic_t cknc_is_active;
/// How many signals asked us to end and were not yet picked up.
extern volatile sig_atomic_t cknc_unanswered;
/// Changes with everything that is read or written, which a program that hangs does not do.
extern volatile sig_atomic_t cknc_progress;

// terminal.c
int cknc_write_all(int fd, const char *bytes, size_t count);
/// Writes while the line takes something within 200 ms. Returns 0 when everything was written.
int cknc_write_patiently(int fd, const char *bytes, size_t count);
void cknc_give_back(const struct cknc_restoration *restoration, int only_if_ours);

// restoration.c
void cknc_build_restoration(void);
extern char cknc_enter_modes[32];
extern char cknc_leave_modes[32];

// signals.c
void cknc_signals_save(void);
int cknc_signals_install(void);
void cknc_signals_remove(void);

// capture.c
int cknc_capture_prepare(void);
void cknc_capture_start(void);
void cknc_capture_stop(void);
void cknc_capture_trim(void);
void cknc_capture_replay(void);
int cknc_capture_fd(void);
int cknc_capture_original(void);

// guard.c
void cknc_guard_tell(int is_active);

// draw.c
int cknc_frame_open(void);
FILE *cknc_frame_file(void);
int cknc_frame_send(void);
void cknc_frame_drop(void);
void cknc_colors_start(int options);

// economy.c
/// Forgets the look that the terminal has, because another program wrote on the screen.
void cknc_economy_forget(void);

// description.c
SCREEN *cknc_newterm(const char *term, int options, int *status);
/// Looks up the description that `cknc_newterm` would take, and leaves the terminal alone. Returns a `cknc_status`.
int cknc_look_up(const char *term, int options, int *colors);

#endif
