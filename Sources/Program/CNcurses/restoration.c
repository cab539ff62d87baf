// Builds, while it is still safe to allocate, the bytes that give the terminal back.

#include "internal.h"

#include <stdlib.h>
#include <term.h>

struct cknc_restoration cknc_restoration;
char cknc_enter_modes[32];
char cknc_leave_modes[32];

static int append(int byte) {
  struct cknc_restoration *r = &cknc_restoration;
  if (r->length < sizeof r->text) r->text[r->length++] = (char)byte;
  return byte;
}

static void append_capability(const char *name) {
  const char *value = tigetstr((char *)name);
  if (value != NULL && value != (char *)-1) tputs(value, 1, append);
}

/// Whether the mouse was ever reported. From then on every end of the program turns the reports off.
static int was_mouse_reported;
static int is_mouse_reported;

void cknc_build_restoration(void) {
  cknc_restoration.length = 0;
  // Pasted text must not be taken for keys. Few descriptions say that a terminal marks it (BE), many that do not say so
  // do, and the others ignore the mode.
  strcpy(cknc_enter_modes, "\033[?2004h");
  strcpy(cknc_leave_modes, "\033[?2004l");
  // Presses and the wheel, with coordinates of any size.
  if (is_mouse_reported) strcat(cknc_enter_modes, "\033[?1000h\033[?1006h");
  if (was_mouse_reported) strcat(cknc_leave_modes, "\033[?1006l\033[?1000l");
  for (const char *byte = cknc_leave_modes; *byte != '\0'; byte++) append(*byte);
  append_capability("sgr0");
  append_capability("op");
  append_capability("cnorm");
  const char *leave = tigetstr("rmcup");
  if (leave != NULL && leave != (char *)-1) {
    tputs(leave, 1, append);
  } else {
    // Without a second screen the shell goes on below ours. A row this large stands for the last one.
    const char *place = tigetstr("cup");
    if (place != NULL && place != (char *)-1) tputs(tparm(place, 998, 0, 0, 0, 0, 0, 0, 0, 0), 1, append);
    append('\r');
    append('\n');
  }
}

void cknc_mouse(int is_on) {
  if (is_on == is_mouse_reported) return;
  is_mouse_reported = is_on;
  was_mouse_reported |= is_on;
  cknc_build_restoration();
  if (!cknc_is_active) return;
  // The guard has to know before the terminal does.
  cknc_guard_tell(1);
  cknc_add(is_on ? "\033[?1000h\033[?1006h" : "\033[?1006l\033[?1000l");
}
