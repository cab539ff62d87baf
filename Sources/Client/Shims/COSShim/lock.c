// Drepper's mutex over futex(2): 0 is unlocked, 1 locked, 2 locked with threads that wait.

#include "lock.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool take(os_unfair_lock_t lock) {
  uint32_t unlocked = 0;
  return __atomic_compare_exchange_n(
    &lock->_os_unfair_lock_opaque, &unlocked, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED
  );
}

bool os_unfair_lock_trylock(os_unfair_lock_t lock) { return take(lock); }

void os_unfair_lock_lock(os_unfair_lock_t lock) {
  if (take(lock)) return;
  while (__atomic_exchange_n(&lock->_os_unfair_lock_opaque, 2, __ATOMIC_ACQUIRE) != 0) {
    syscall(SYS_futex, &lock->_os_unfair_lock_opaque, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
  }
}

void os_unfair_lock_unlock(os_unfair_lock_t lock) {
  if (__atomic_exchange_n(&lock->_os_unfair_lock_opaque, 0, __ATOMIC_RELEASE) == 2) {
    syscall(SYS_futex, &lock->_os_unfair_lock_opaque, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  }
}

void os_unfair_lock_assert_owner(const os_unfair_lock *lock) {
  if (__atomic_load_n(&lock->_os_unfair_lock_opaque, __ATOMIC_RELAXED) == 0) abort();
}

void os_unfair_lock_assert_not_owner(const os_unfair_lock *lock) { (void)lock; }
