// ncursesw behind a small door: no curses type, macro or global gets out.
//
// Every function except `cknc_guard_start` and `cknc_tmux_await` must be called on one and the same thread.

#ifndef CNCURSES_H
#define CNCURSES_H

#include <stdint.h>
#include <stdio.h>

/// Why the terminal could not be opened.
enum cknc_status {
  CKNC_OK = 0,
  CKNC_NOT_A_TERMINAL = 1,
  CKNC_TERM_UNSET = 2,
  CKNC_TERM_UNKNOWN = 3,
  CKNC_TERM_DUMB = 4,
  CKNC_SYSTEM_ERROR = 5,
};

enum cknc_option {
  CKNC_MONOCHROME = 1,
  CKNC_DIRECT_COLOR = 2,
};

enum cknc_attribute {
  CKNC_BOLD = 1,
  CKNC_UNDERLINE = 2,
  CKNC_REVERSE = 4,
  CKNC_DIM = 8,
};

// Life

/// Starts a process that gives the terminal back if this one is killed. Best called before threads start and files
/// open. Returns 0, or -1 when it could not be started, which is no reason to stop.
int cknc_guard_start(void);
/// Ends that process; `cknc_guard_start` may be called again.
void cknc_guard_stop(void);
/// Takes the terminal over. Returns a `cknc_status`; after an error the terminal is as it was.
int cknc_open(int options);
/// Looks up the terminal without taking it over: its colours, and whether the locale has nothing beyond ASCII. Returns a
/// `cknc_status`. Not while the terminal is taken.
int cknc_examine(int options, int *colors, int *has_ascii_only);
/// The name and version of ncurses.
const char *cknc_version(void);
/// Gives the terminal back and replays what was written to stderr meanwhile.
void cknc_close(void);
/// Asks the terminal to report presses of the mouse and its wheel, or to stop; sent with the next frame.
void cknc_mouse(int is_on);
/// 1 when nothing beyond ASCII can be shown.
int cknc_is_ascii(void);
/// The number of colours, 0 for none.
int cknc_colors(void);

/// Gives the terminal back for a while, to be stopped.
void cknc_leave(void);
/// Takes it again. Returns 0, or -1 when there is no terminal any more.
int cknc_enter(void);
/// Whether the process may use the terminal, because its group is in the foreground.
int cknc_is_foreground(void);
/// Stops the process group while it is in the background, as the kernel stops a program that uses the terminal there.
/// Returns 0 in the foreground, or -1 when there is no terminal any more, no shell that could continue the group, or a
/// signal that asks to end.
int cknc_await_foreground(void);
/// Stops this process as ^Z does, and with it its process group if `group`. Returns when it goes on.
/// Only between `cknc_leave` and `cknc_enter`.
void cknc_stop(int group);

// Events

/// Becomes readable when there is input, or no line any more.
int cknc_input_fd(void);
/// Becomes readable when a signal came.
int cknc_signal_fd(void);
/// The next signal of TERM, HUP, INT, TSTP, CONT and WINCH; 0 when there is none.
int cknc_next_signal(void);

/// Has hang-ups ignored once the terminal is given back: after the first, others come from the kernel and the shell.
void cknc_ignore_hangups(void);
/// Reads what was typed, without waiting. Returns the number of bytes, 0 for nothing yet, -1 when the line is gone.
int cknc_read(uint8_t *buffer, int capacity);

// Drawing

int cknc_rows(void);
int cknc_columns(void);
/// Asks the terminal for its size and follows it. Returns 1 when it changed, else 0.
int cknc_resize(void);
/// Sets the look of the ground, in which the screen is cleared, and forgets all other colours: every row has to be put
/// again.
void cknc_background(int foreground, int background);
/// Fills a row with the ground.
void cknc_erase(int row);
/// Puts code points on one row. Marks of no width sit on the character before them.
void cknc_put(int row, int column, const uint32_t *text, int count, int foreground, int background, int attributes);
/// Shows the cursor at a place, or hides it when `row` is negative.
void cknc_cursor(int row, int column);
/// The next flush draws everything anew, because somebody else wrote on the screen.
void cknc_redraw(void);
/// Whether the line takes output now. A stalled line is better waited for than written to.
int cknc_is_writable(void);
/// Adds a text to the next flush that is for the terminal itself and shows nothing.
void cknc_add(const char *text);
/// Sends what changed, in one write. Returns the number of bytes, 0 when nothing changed, -1 when the line is gone.
int cknc_flush(void);

/// Writes a part of what ncurses sends without the changes of the look that nothing is drawn with. `cknc_flush` calls
/// it. A 0 that does not count has to follow the bytes.
void cknc_economy_write(FILE *out, const char *bytes, size_t count);

// Clipboard

/// Starts `tmux load-buffer -w -` with a text as its input. Returns its process id, or -1 when it did not start.
int cknc_tmux_copy(const uint8_t *text, int count);
/// Waits for the end of that process, on any thread. Returns its exit status, or -1 when it did not exit.
int cknc_tmux_await(int process);

#endif
