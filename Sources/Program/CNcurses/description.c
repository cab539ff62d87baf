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

enum { most = 8, stem_length = 64 };

/// The names under which a description is looked for, the best first.
struct candidates {
  const char *names[most];
  size_t count;
  /// The place of the user's own choice.
  size_t own;
  char stem[stem_length];
};

static void find_candidates(struct candidates *found, const char *term, int options) {
  found->count = 0;
  if ((options & CKNC_DIRECT_COLOR) && wants_direct_color(term)) found->names[found->count++] = "xterm-direct";
  found->own = found->count;
  found->names[found->count++] = term;
  if (strcasecmp(term, "dumb") == 0) return;
  // "screen.xterm-kitty" and "foot-extra" are cut at their end until something is known.
  size_t length = strcspn(term, "-.");
  if (resembles_xterm(term)) {
    found->names[found->count++] = "xterm-256color";
  } else if (term[length] != '\0' && length < stem_length) {
    memcpy(found->stem, term, length);
    found->stem[length] = '\0';
    if (strcmp(found->stem, "tmux") == 0) found->names[found->count++] = "screen-256color";
    found->names[found->count++] = found->stem;
  }
  if (strncmp(term, "tmux", 4) == 0) found->names[found->count++] = "screen";
  found->names[found->count++] = "ansi";
  found->names[found->count++] = "vt100";
}

/// Whether the description that was just loaded will do as the candidate at a place.
static int fits(const struct candidates *found, size_t place) {
  return is_able() && (place >= found->own || tigetnum("colors") > 256);
}

SCREEN *cknc_newterm(const char *term, int options, int *status) {
  struct candidates found;
  find_candidates(&found, term, options);
  *status = strcasecmp(term, "dumb") == 0 ? CKNC_TERM_DUMB : CKNC_TERM_UNKNOWN;
  for (size_t i = 0; i < found.count; i++) {
    SCREEN *screen = newterm(found.names[i], cknc_frame_file(), stdin);
    if (screen == NULL) continue;
    if (fits(&found, i)) {
      *status = CKNC_OK;
      return screen;
    }
    endwin();
    delscreen(screen);
    cknc_frame_drop();
    // The user's own choice is known and cannot do it: no likeness of it can.
    if (i == found.own) {
      *status = CKNC_TERM_DUMB;
      return NULL;
    }
  }
  return NULL;
}

int cknc_look_up(const char *term, int options, int *colors) {
  struct candidates found;
  find_candidates(&found, term, options);
  int status = strcasecmp(term, "dumb") == 0 ? CKNC_TERM_DUMB : CKNC_TERM_UNKNOWN;
  for (size_t i = 0; i < found.count && status != CKNC_OK; i++) {
    int result;
    if (setupterm(found.names[i], STDOUT_FILENO, &result) != OK) continue;
    int is_fitting = fits(&found, i);
    if (is_fitting) {
      status = CKNC_OK;
      *colors = tigetnum("colors");
    }
    del_curterm(cur_term);
    if (!is_fitting && i == found.own) return CKNC_TERM_DUMB;
  }
  return status;
}
