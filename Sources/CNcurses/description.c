// Finds a terminal description that fits, however new the terminal or old the machine.

#include "internal.h"

#include <stdlib.h>
#include <term.h>

static const char *const like_xterm[] = {
    "xterm", "kitty", "foot", "ghostty", "wezterm", "alacritty", "contour", "rio", "konsole", "vte", "gnome", "iterm",
    "rxvt", "st-", "mlterm", "putty", "mintty", "warp",
};

static int resembles_xterm(const char *term) {
  for (size_t i = 0; i < sizeof like_xterm / sizeof *like_xterm; i++) {
    if (strcasestr(term, like_xterm[i]) != NULL) return 1;
  }
  return 0;
}

static int wants_direct_color(const char *term) {
  const char *depth = getenv("COLORTERM");
  if (depth == NULL || (strcmp(depth, "truecolor") != 0 && strcmp(depth, "24bit") != 0)) return 0;
  return resembles_xterm(term);
}

/// 1 when the description can place the cursor and clear the screen. `dumb` cannot, although newterm takes it.
static int is_able(void) {
  const char *place = tigetstr("cup");
  const char *clear = tigetstr("clear");
  return place != NULL && place != (char *)-1 && clear != NULL && clear != (char *)-1;
}

SCREEN *cknc_newterm(const char *term, int options, int *status) {
  const char *candidates[8];
  size_t count = 0;
  char stem[64];

  if ((options & CKNC_DIRECT_COLOR) && wants_direct_color(term)) candidates[count++] = "xterm-direct";
  size_t first = count;
  candidates[count++] = term;
  // "screen.xterm-kitty" and "foot-extra" are cut at their end until something is known.
  size_t length = strcspn(term, "-.");
  if (strcasecmp(term, "dumb") != 0) {
    if (resembles_xterm(term)) {
      candidates[count++] = "xterm-256color";
    } else if (term[length] != '\0' && length < sizeof stem) {
      memcpy(stem, term, length);
      stem[length] = '\0';
      if (strcmp(stem, "tmux") == 0) candidates[count++] = "screen-256color";
      candidates[count++] = stem;
    }
    if (strncmp(term, "tmux", 4) == 0) candidates[count++] = "screen";
    candidates[count++] = "ansi";
    candidates[count++] = "vt100";
  }

  *status = strcasecmp(term, "dumb") == 0 ? CKNC_TERM_DUMB : CKNC_TERM_UNKNOWN;
  for (size_t i = 0; i < count; i++) {
    SCREEN *screen = newterm(candidates[i], cknc_frame_file(), stdin);
    if (screen == NULL) continue;
    if (is_able() && (i >= first || tigetnum("colors") > 256)) {
      *status = CKNC_OK;
      return screen;
    }
    endwin();
    delscreen(screen);
    cknc_frame_drop();
    // The user's own choice is known and cannot do it: no likeness of it can.
    if (i == first) {
      *status = CKNC_TERM_DUMB;
      return NULL;
    }
  }
  return NULL;
}
