// Apple's lock of four bytes, which waits in the kernel. All bytes zero is unlocked.

#ifndef COSSHIM_LOCK_H
#define COSSHIM_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

typedef struct os_unfair_lock_s {
  uint32_t _os_unfair_lock_opaque;
} os_unfair_lock, *os_unfair_lock_t;

/// Locks, and waits until that is possible.
void os_unfair_lock_lock(os_unfair_lock_t lock);
/// Locks if that is possible at once, and returns whether it did.
bool os_unfair_lock_trylock(os_unfair_lock_t lock);
/// Unlocks, and wakes a thread that waits.
void os_unfair_lock_unlock(os_unfair_lock_t lock);
/// Ends the process if nothing has locked. The lock does not know its thread.
void os_unfair_lock_assert_owner(const os_unfair_lock *lock);
/// Does nothing, because the lock does not know its thread.
void os_unfair_lock_assert_not_owner(const os_unfair_lock *lock);

#pragma clang assume_nonnull end

#endif
