// Takes out of a frame what the terminal need not be sent: changes of the look in which nothing is drawn.
//
// ncurses sends both colours when one changes, resets before it, and changes them for blanks as well. Here a change is
// only noted. What the terminal lacks is sent, in its shortest form, before something that shows it.

#include "internal.h"

#include <stdlib.h>

/// Bits of the attributes: bold and dim, which blanks do not show, and underline and reverse.
enum { WEIGHT = 1 << 1 | 1 << 2, LINE = 1 << 4 | 1 << 7 };

/// The look that SGR sets. The colours of text and ground are parameters such as "38;5;247", or empty for the default.
struct look {
  unsigned attributes;
  char colors[2][24];
};
static struct look wanted, shown;
/// Whether the terminal has `shown`, ASCII in G0, and G0 in use.
static int is_known, is_ascii, is_shifted_in;
/// Whether everything is sent as it is, because the look is unknown until the next reset.
static int is_off;

void cknc_economy_forget(void) { is_known = is_ascii = is_shifted_in = 0; }

/// Sends what the terminal lacks of the wanted look. Blanks show the ground only, unless underlined or reversed.
static void show(FILE *out, int is_ground) {
  if (is_off) return;
  if (wanted.attributes & LINE) is_ground = 0;
  unsigned visible = is_ground ? ~(unsigned)WEIGHT : ~0u;
  unsigned ended = shown.attributes & visible & ~wanted.attributes;
  // Only a terminal with more than 16 colours is sure to know how to end bold. Every terminal knows the reset.
  int ends_weight = !(ended & ~(unsigned)WEIGHT) && !(wanted.attributes & WEIGHT) && strlen(wanted.colors[1]) > 3;
  int needs_reset = !is_known || (ended && !ends_weight);
  for (int i = is_ground; i < 2; i++) needs_reset |= *shown.colors[i] && !*wanted.colors[i];
  char codes[128] = "";
  if (needs_reset || ended) strcat(codes, needs_reset ? ";" : ";22");
  if (needs_reset) shown = (struct look){0};
  shown.attributes &= ~ended;
  is_known = 1;
  unsigned missing = wanted.attributes & visible & ~shown.attributes;
  shown.attributes |= missing;
  for (unsigned code = 1; code < 10; code++) {
    if (missing & 1u << code) sprintf(codes + strlen(codes), ";%u", code);
  }
  for (int i = is_ground; i < 2; i++) {
    if (strcmp(shown.colors[i], wanted.colors[i]) == 0) continue;
    strcat(strcat(codes, ";"), strcpy(shown.colors[i], wanted.colors[i]));
  }
  if (*codes) fprintf(out, "\033[%sm", codes + 1);
}

/// Notes the look that an SGR sequence asks for. Returns 0 if it has a code that is not known here.
static int note(const char *codes, const char *end) {
  struct look look = wanted;
  if (*codes == '0' || *codes == 'm' || *codes == ';') is_off = 0;
  for (const char *at = codes; at <= end;) {
    size_t length = strcspn(at, ";m");
    int code = atoi(at);
    int is_ground = (code >= 40 && code < 50) || code >= 100;
    // 38;5;n and 38;2;r;g;b are one colour.
    int more = code != 38 && code != 48 ? 0 : strncmp(at + 2, ";5", 2) == 0 ? 2 : strncmp(at + 2, ";2", 2) == 0 ? 4 : 0;
    for (; more > 0 && at[length] == ';'; more--) length += 1 + strcspn(at + length + 1, ";m");
    if (code == 0) {
      look = (struct look){0};
    } else if (code < 10) {
      look.attributes |= 1u << code;
    } else if (((code >= 30 && code < 50) || (code >= 90 && code < 108)) && length < sizeof look.colors[0]) {
      sprintf(look.colors[is_ground], "%.*s", code == 39 || code == 49 ? 0 : (int)length, at);
    } else if (code != 10) {  // the font that text has anyway
      return 0;
    }
    at += length + 1;
  }
  if (!is_off) wanted = look;
  return !is_off;
}

enum effect { NONE, GROUND, TEXT, NOTED, UNKNOWN };

static enum effect effect_of(const char *at, size_t length) {
  const char *last = at + length - 1;
  if (*at == ' ' || *at == '\n') return GROUND;
  if (*at == '\017') return is_shifted_in++ ? NOTED : NONE;
  if (*at != '\033') return *at == '\016' ? UNKNOWN : (unsigned char)*at < ' ' ? NONE : TEXT;
  if (length == 3 && memcmp(at, "\033(B", 3) == 0) return is_ascii++ ? NOTED : NONE;
  if (at[1] == ']' || strncmp(at, "\033[?", 3) == 0) return NONE;
  if (at[1] != '[') return at[1] == 'M' ? GROUND : UNKNOWN;
  if (*last == 'm') return note(at + 2, last) ? NOTED : UNKNOWN;
  return strchr("@JKLMPSTXb", *last) ? GROUND : strchr("ABCDEFGHdfhlrt", *last) ? NONE : UNKNOWN;
}

/// Returns the length of the control sequence, the string for the terminal, or the byte at the beginning.
static size_t length_at(const char *at, const char *end) {
  const char *last = at + 1;
  if (*at != '\033' || last == end) return 1;
  if (*last == '[') {
    while (++last < end - 1 && (unsigned char)*last < '@') {}
  } else if (*last == ']') {
    while (++last < end - 1 && *last != '\007' && !(*last == '\\' && last[-1] == '\033')) {}
  } else if (strchr("()*+", *last)) {
    last++;
  }
  return (size_t)((last < end ? last + 1 : end) - at);
}

void cknc_economy_write(FILE *out, const char *bytes, size_t count) {
  const char *end = bytes + count;
  for (size_t length; bytes < end; bytes += length) {
    length = length_at(bytes, end);
    enum effect effect = effect_of(bytes, length);
    if (effect == NOTED) continue;
    if (effect != NONE) show(out, effect == GROUND);
    fwrite(bytes, 1, length, out);
    if (effect != UNKNOWN) continue;
    is_off = 1;
    cknc_economy_forget();
  }
}
