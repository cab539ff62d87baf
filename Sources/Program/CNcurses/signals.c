// Signals become bytes in a pipe; crashes give the terminal back first.

#include "internal.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/time.h>

static const int end_signals[] = {SIGTERM, SIGHUP, SIGINT};
static const int event_signals[] = {SIGTERM, SIGHUP, SIGINT, SIGALRM, SIGTSTP, SIGCONT, SIGWINCH};
static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGQUIT, SIGSYS};
#define COUNT(array) (sizeof(array) / sizeof *(array))

/// The time in which a request to end has to be picked up, in microseconds.
#define PATIENCE 700000

volatile sig_atomic_t cknc_unanswered;
volatile sig_atomic_t cknc_progress;
static volatile sig_atomic_t asked_to_end_by;
static volatile sig_atomic_t progress_at_alarm;
static struct sigaction before[NSIG];
static int pipe_ends[2] = {-1, -1};
static char crash_stack[64 * 1024];

/// Puts the earlier action back and lets the signal act on it, so that exit status, core file and crash reporter are
/// what they would have been. A signal from outside is no crash: nobody wants a reporter to ask questions then.
static void give_back_and_die(int number, int is_from_outside) {
  if (cknc_is_active) {
    cknc_is_active = 0;
    cknc_give_back(&cknc_restoration, 0);
    cknc_guard_tell(0);
    cknc_capture_replay();
  }
  struct sigaction action = before[number];
  if (action.sa_handler == SIG_IGN || is_from_outside) {
    action.sa_handler = SIG_DFL;
    action.sa_flags = 0;
  }
  sigaction(number, &action, NULL);
  raise(number);
}

/// ^C and ^\ on the keyboard are meant for the program that has the terminal meanwhile.
static int is_for_another(int number) { return !cknc_is_active && (number == SIGINT || number == SIGQUIT); }

static int is_end(int number) { return number == SIGTERM || number == SIGHUP || number == SIGINT; }

/// Only functions that a signal handler may call.
static void set_alarm(int microseconds) {
  progress_at_alarm = cknc_progress;
  struct itimerval time = {.it_value = {.tv_usec = microseconds}};
  setitimer(ITIMER_REAL, &time, NULL);
}

static void on_event(int number) {
  if (is_for_another(number)) return;
  int saved = errno;
  if (number == SIGALRM) {
    // Nothing picks up the request to end: the program hangs, such as in a write to a stalled line. So it is not asked
    // any more.
    if (cknc_unanswered > 0 && progress_at_alarm == cknc_progress) give_back_and_die(asked_to_end_by, 1);
    if (cknc_unanswered > 0) set_alarm(PATIENCE);
  } else {
    if (is_end(number)) {
      asked_to_end_by = number;
      if (++cknc_unanswered == 1) set_alarm(PATIENCE);
    }
    unsigned char byte = (unsigned char)number;
    ssize_t ignored = write(pipe_ends[1], &byte, 1);
    (void)ignored;
  }
  errno = saved;
}

static void on_crash(int number, siginfo_t *info, void *context) {
  (void)context;
  if (is_for_another(number)) return;
  give_back_and_die(number, info->si_code <= 0 && info->si_pid != getpid());
}

static void install(int number, struct sigaction action) {
  sigfillset(&action.sa_mask);
  sigaction(number, &action, NULL);
}

/// ncurses puts in handlers of its own when it starts; those are not what we go back to.
void cknc_signals_save(void) {
  for (size_t i = 0; i < COUNT(event_signals); i++) sigaction(event_signals[i], NULL, &before[event_signals[i]]);
  for (size_t i = 0; i < COUNT(crash_signals); i++) sigaction(crash_signals[i], NULL, &before[crash_signals[i]]);
}

int cknc_signals_install(void) {
  if (pipe_ends[0] < 0 && pipe2(pipe_ends, O_NONBLOCK | O_CLOEXEC) != 0) return -1;
  stack_t current;
  // A crash reporter may have set up a stack already, and it may be larger.
  if (sigaltstack(NULL, &current) == 0 && (current.ss_flags & SS_DISABLE)) {
    stack_t ours = {.ss_sp = crash_stack, .ss_size = sizeof crash_stack};
    sigaltstack(&ours, NULL);
  }
  cknc_unanswered = 0;
  struct sigaction on_event_action = {.sa_handler = on_event};
  struct sigaction on_crash_action = {.sa_sigaction = on_crash, .sa_flags = SA_ONSTACK | SA_SIGINFO};
  for (size_t i = 0; i < COUNT(event_signals); i++) {
    // A signal that was ignored at the start, as under nohup, stays ignored.
    int stays_ignored = is_end(event_signals[i]) && before[event_signals[i]].sa_handler == SIG_IGN;
    if (!stays_ignored) install(event_signals[i], on_event_action);
  }
  for (size_t i = 0; i < COUNT(crash_signals); i++) install(crash_signals[i], on_crash_action);
  return 0;
}

void cknc_signals_remove(void) {
  set_alarm(0);
  for (size_t i = 0; i < COUNT(event_signals); i++) sigaction(event_signals[i], &before[event_signals[i]], NULL);
  for (size_t i = 0; i < COUNT(crash_signals); i++) sigaction(crash_signals[i], &before[crash_signals[i]], NULL);
}

void cknc_ignore_hangups(void) { before[SIGHUP] = (struct sigaction){.sa_handler = SIG_IGN}; }

int cknc_signal_fd(void) { return pipe_ends[0]; }

int cknc_next_signal(void) {
  unsigned char number = 0;
  if (read(pipe_ends[0], &number, 1) != 1) return 0;
  if (is_end(number)) {
    set_alarm(0);
    cknc_unanswered = 0;
  }
  return number;
}

void cknc_stop(int group) {
  struct sigaction ours;
  struct sigaction action = {.sa_handler = SIG_IGN};
  if (group) {
    // The others first, while we do not listen. Raising it for this thread then stops us before `raise` returns;
    // sent to the process, another thread could take it and this one run on for a while.
    sigaction(SIGTSTP, &action, &ours);
    kill(0, SIGTSTP);
  } else {
    sigaction(SIGTSTP, NULL, &ours);
  }
  // Going on is what the caller waits for, so it is no news.
  struct sigaction on_continue;
  action.sa_handler = SIG_DFL;
  sigaction(SIGTSTP, &action, NULL);
  sigaction(SIGCONT, &action, &on_continue);
  // Threads that serve queues block signals, and a blocked one would wait for ever.
  sigset_t stop, mask;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  pthread_sigmask(SIG_UNBLOCK, &stop, &mask);
  raise(SIGTSTP);
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  sigaction(SIGCONT, &on_continue, NULL);
  sigaction(SIGTSTP, &ours, NULL);
}

int cknc_is_foreground(void) {
  pid_t group = tcgetpgrp(STDIN_FILENO);
  // A terminal that is not the controlling one has no background.
  return group < 0 || group == getpgrp();
}

int cknc_await_foreground(void) {
  if (cknc_is_foreground()) return 0;
  // Another program has the terminal, so signals act on this process as on one without a terminal. A handler would only
  // run when the process goes on.
  struct sigaction standard = {.sa_handler = SIG_DFL};
  struct sigaction ours[COUNT(end_signals)], on_continue, on_output;
  for (size_t i = 0; i < COUNT(end_signals); i++) sigaction(end_signals[i], &before[end_signals[i]], &ours[i]);
  sigaction(SIGCONT, &standard, &on_continue);
  sigaction(SIGTTOU, &standard, &on_output);
  // While a thread blocks it, as those that serve queues do, the kernel lets a program in the background have its way.
  sigset_t stop, mask;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTTOU);
  pthread_sigmask(SIG_UNBLOCK, &stop, &mask);
  // A signal to end often comes with the one to continue, and another thread may be about to take it.
  poll(NULL, 0, 50);
  int result = -1;
  // Changes nothing, but the kernel stops a group in the background here until it is in the foreground. It fails for a
  // group that no shell could bring there.
  while (cknc_unanswered == 0 && (result = tcflow(STDIN_FILENO, TCOON)) != 0 && errno == EINTR) continue;
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  sigaction(SIGTTOU, &on_output, NULL);
  sigaction(SIGCONT, &on_continue, NULL);
  for (size_t i = 0; i < COUNT(end_signals); i++) sigaction(end_signals[i], &ours[i], NULL);
  return result;
}
