// Draws into ncurses, which writes into memory; each frame then leaves in one write.

#include "internal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <wchar.h>

static FILE *frame;
static int frame_fd = -1;
static char *bytes;
static size_t capacity;
static int colors;
static int has_default_colors;
static int is_cursor_shown = -1;

FILE *cknc_frame_file(void) { return frame; }

int cknc_frame_open(void) {
  if (frame != NULL) return 0;
  // ncurses flushes at every change of attributes; through memory all of that becomes one write to the line.
  frame_fd = memfd_create("frame", MFD_CLOEXEC);
  if (frame_fd < 0) return -1;
  frame = fdopen(frame_fd, "w");
  return frame == NULL ? -1 : 0;
}

int cknc_frame_send(void) {
  fflush(frame);
  off_t count = lseek(frame_fd, 0, SEEK_CUR);
  if (count <= 0) return 0;
  if ((size_t)count >= capacity) {
    char *larger = realloc(bytes, (size_t)count + 1);
    if (larger == NULL) return -1;
    bytes = larger;
    capacity = (size_t)count + 1;
  }
  ssize_t read_back = pread(frame_fd, bytes, (size_t)count, 0);
  if (ftruncate(frame_fd, 0) != 0 || lseek(frame_fd, 0, SEEK_SET) != 0 || read_back != count) return -1;
  bytes[count] = '\0';
  char *text = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  if (out == NULL) return -1;
  cknc_economy_write(out, bytes, (size_t)count);
  int result = fclose(out) == 0 && cknc_write_all(STDOUT_FILENO, text, length) == 0 ? (int)length : -1;
  free(text);
  return result;
}

void cknc_add(const char *text) { cknc_write_all(frame_fd, text, strlen(text)); }

void cknc_frame_drop(void) {
  fflush(frame);
  if (ftruncate(frame_fd, 0) == 0) lseek(frame_fd, 0, SEEK_SET);
}

void cknc_colors_start(int options) {
  colors = 0;
  if ((options & CKNC_MONOCHROME) || !has_colors() || start_color() != OK) return;
  has_default_colors = use_default_colors() == OK;
  colors = COLORS;
}

int cknc_colors(void) { return colors; }

int cknc_rows(void) { return LINES; }

int cknc_columns(void) { return COLS; }

/// ncurses counts in 16 bits, and a screen takes memory for each cell. More than this fits on no screen.
enum { MOST_ROWS = 500, MOST_COLUMNS = 1000 };

static int at_most(int limit, int size) { return size < limit ? size : limit; }

int cknc_resize(void) {
  struct winsize size = {0};
  ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
  // A line that does not know its size, such as a serial one, gets the size of old.
  int rows = size.ws_row > 0 ? at_most(MOST_ROWS, size.ws_row) : 24;
  int columns = size.ws_col > 0 ? at_most(MOST_COLUMNS, size.ws_col) : 80;
  if (rows == LINES && columns == COLS) return 0;
  resizeterm(rows, columns);
  return 1;
}

enum { MOST_PAIRS = 1024 };
static struct { int foreground, background; } pairs[MOST_PAIRS];
static int used_pairs = 1;
/// The pair of the ground and the ordinary text on it.
static int text_pair;

/// Returns the number of a pair of colours. A number keeps its colours until all is drawn again, because changing a
/// pair changes what is on the screen. When they run out, text looks ordinary, which can be read at least.
static int pair(int foreground, int background) {
  if (colors == 0) return 0;
  if (!has_default_colors) {
    if (foreground < 0) foreground = COLOR_WHITE;
    if (background < 0) background = COLOR_BLACK;
  } else if (foreground < 0 && background < 0) {
    return 0;
  }
  for (int i = 1; i < used_pairs; i++) {
    if (pairs[i].foreground == foreground && pairs[i].background == background) return i;
  }
  if (used_pairs < MOST_PAIRS && used_pairs < COLOR_PAIRS &&
      init_extended_pair(used_pairs, foreground, background) == OK) {
    pairs[used_pairs].foreground = foreground;
    pairs[used_pairs].background = background;
    return used_pairs++;
  }
  return text_pair;
}

static attr_t attributes_of(int attributes) {
  attr_t result = A_NORMAL;
  if (attributes & CKNC_BOLD) result |= A_BOLD;
  if (attributes & CKNC_UNDERLINE) result |= A_UNDERLINE;
  if (attributes & CKNC_REVERSE) result |= A_REVERSE;
  if (attributes & CKNC_DIM) result |= A_DIM;
  return result;
}

/// Returns one character with its marks as ncurses keeps it.
static cchar_t cell_of(const wchar_t *cluster, attr_t attributes, int number) {
  cchar_t cell = {0};
  if (setcchar(&cell, cluster, attributes, 0, &number) != OK) setcchar(&cell, L"?", attributes, 0, &number);
  return cell;
}

void cknc_background(int foreground, int background) {
  // All is drawn again, so the pairs of another theme are not needed any more.
  used_pairs = 1;
  text_pair = 0;
  text_pair = pair(foreground, background);
  cchar_t blank = cell_of(L" ", A_NORMAL, text_pair);
  // ncurses keeps the pair of what the terminal has cleared among the attributes only. Blanks that have it elsewhere,
  // too, would be taken for others and sent again.
  blank.ext_color = 0;
  wbkgrndset(stdscr, &blank);
}

void cknc_erase(int row) {
  wmove(stdscr, row, 0);
  wclrtoeol(stdscr);
}

void cknc_put(int row, int column, const uint32_t *text, int count, int foreground, int background, int attributes) {
  attr_t attribute = attributes_of(attributes);
  int number = pair(foreground, background);
  cchar_t cells[256];
  int used = 0;
  int start = column;
  for (int i = 0; i < count;) {
    wchar_t cluster[CCHARW_MAX + 1] = {(wchar_t)text[i++]};
    int columns = wcwidth(cluster[0]);
    for (int marks = 1; i < count && wcwidth((wchar_t)text[i]) == 0; i++) {
      if (marks < CCHARW_MAX) cluster[marks++] = (wchar_t)text[i];
    }
    cells[used++] = cell_of(cluster, attribute, number);
    column += columns > 1 ? columns : 1;
    if (used == 256 || i == count) {
      // Unlike add_wch this neither moves the cursor nor scrolls, so the last cell of the screen is a cell like others.
      mvadd_wchnstr(row, start, cells, used);
      start = column;
      used = 0;
    }
  }
}

void cknc_cursor(int row, int column) {
  int is_shown = row >= 0;
  leaveok(stdscr, !is_shown);
  if (is_shown) wmove(stdscr, row, column);
  if (is_shown != is_cursor_shown) curs_set(is_shown);
  is_cursor_shown = is_shown;
}

void cknc_redraw(void) {
  is_cursor_shown = -1;
  cknc_economy_forget();
  clearok(curscr, TRUE);
}

int cknc_flush(void) {
  wnoutrefresh(stdscr);
  doupdate();
  cknc_capture_trim();
  return cknc_frame_send();
}
