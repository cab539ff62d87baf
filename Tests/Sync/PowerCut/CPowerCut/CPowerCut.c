#include "CPowerCut.h"

#include <sqlite3.h>
#include <string.h>

const int powercut_error_read = SQLITE_IOERR_READ;
const int powercut_error_write = SQLITE_IOERR_WRITE;
const int powercut_error_sync = SQLITE_IOERR_FSYNC;
const int powercut_error_full = SQLITE_FULL;

/// A witnessed file. The system's own follows it in memory.
typedef struct {
  sqlite3_file base;
  const char *path;
  /// Whether its first sync has to make its entry in the folder durable too.
  int is_new;
} witnessed;

static sqlite3_vfs *under;
static sqlite3_vfs above;
static powercut_witness witness;
static powercut_filter filter;

static sqlite3_file *real(sqlite3_file *file) { return (sqlite3_file *)((witnessed *)file + 1); }

static int on_close(sqlite3_file *file) { return real(file)->pMethods->xClose(real(file)); }

static int on_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
  int error = witness(POWERCUT_READ, ((witnessed *)file)->path, offset, 0, count);
  return error ? error : real(file)->pMethods->xRead(real(file), bytes, count, offset);
}

static int on_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
  int error = witness(POWERCUT_WRITE, ((witnessed *)file)->path, offset, bytes, count);
  return error ? error : real(file)->pMethods->xWrite(real(file), bytes, count, offset);
}

static int on_truncate(sqlite3_file *file, sqlite3_int64 size) {
  int error = witness(POWERCUT_TRUNCATE, ((witnessed *)file)->path, 0, 0, size);
  return error ? error : real(file)->pMethods->xTruncate(real(file), size);
}

static int on_sync(sqlite3_file *file, int flags) {
  witnessed *known = (witnessed *)file;
  int error = witness(POWERCUT_SYNC, known->path, 0, 0, known->is_new);
  if (error) return error;
  known->is_new = 0;
  // The system's sync is left out: what it would make durable is the witness's to say, and a test need not wait.
  return SQLITE_OK;
}

static int on_file_size(sqlite3_file *file, sqlite3_int64 *size) {
  return real(file)->pMethods->xFileSize(real(file), size);
}
static int on_lock(sqlite3_file *file, int level) { return real(file)->pMethods->xLock(real(file), level); }
static int on_unlock(sqlite3_file *file, int level) { return real(file)->pMethods->xUnlock(real(file), level); }
static int on_check_reserved(sqlite3_file *file, int *result) {
  return real(file)->pMethods->xCheckReservedLock(real(file), result);
}
static int on_control(sqlite3_file *file, int operation, void *argument) {
  return real(file)->pMethods->xFileControl(real(file), operation, argument);
}
static int on_sector_size(sqlite3_file *file) { return real(file)->pMethods->xSectorSize(real(file)); }
static int on_characteristics(sqlite3_file *file) {
  return real(file)->pMethods->xDeviceCharacteristics(real(file));
}
static int on_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **memory) {
  return real(file)->pMethods->xShmMap(real(file), page, size, extend, memory);
}
static int on_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
  return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
}
static void on_shm_barrier(sqlite3_file *file) { real(file)->pMethods->xShmBarrier(real(file)); }
static int on_shm_unmap(sqlite3_file *file, int deletes) {
  return real(file)->pMethods->xShmUnmap(real(file), deletes);
}

/// Of the second version: shared memory for the write-ahead log, but no memory-mapped pages, which nobody could witness.
static const sqlite3_io_methods methods = {
    2,
    on_close,
    on_read,
    on_write,
    on_truncate,
    on_sync,
    on_file_size,
    on_lock,
    on_unlock,
    on_check_reserved,
    on_control,
    on_sector_size,
    on_characteristics,
    on_shm_map,
    on_shm_lock,
    on_shm_barrier,
    on_shm_unmap,
    0,
    0,
};

static int on_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *result) {
  if (!path || !filter(path)) return under->xOpen(under, path, file, flags, result);
  witnessed *known = (witnessed *)file;
  known->base.pMethods = 0;
  known->path = path;
  known->is_new = 0;
  int exists = 0;
  under->xAccess(under, path, SQLITE_ACCESS_EXISTS, &exists);
  if (!exists && (flags & SQLITE_OPEN_CREATE)) {
    int error = witness(POWERCUT_CREATE, path, 0, 0, 0);
    if (error) return error;
    // As the system's files do it: the database itself has its entry made durable with its first log's.
    known->is_new = (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL)) != 0;
  }
  int code = under->xOpen(under, path, real(file), flags, result);
  if (real(file)->pMethods) known->base.pMethods = &methods;
  return code;
}

static int on_delete(sqlite3_vfs *vfs, const char *path, int is_durable) {
  if (filter(path)) {
    int error = witness(POWERCUT_DELETE, path, 0, 0, is_durable);
    if (error) return error;
  }
  return under->xDelete(under, path, is_durable);
}

/// What is not about files' contents goes to the system's functions, which look at their own VFS.
static int on_access(sqlite3_vfs *vfs, const char *path, int flags, int *result) {
  return under->xAccess(under, path, flags, result);
}
static int on_full_pathname(sqlite3_vfs *vfs, const char *path, int size, char *result) {
  return under->xFullPathname(under, path, size, result);
}

int powercut_install(powercut_witness new_witness, powercut_filter new_filter) {
  if (under) return SQLITE_OK;
  witness = new_witness;
  filter = new_filter;
  under = sqlite3_vfs_find(0);
  if (!under) return SQLITE_ERROR;
  above = *under;
  above.pNext = 0;
  above.zName = "powercut";
  above.szOsFile = (int)sizeof(witnessed) + under->szOsFile;
  above.xOpen = on_open;
  above.xDelete = on_delete;
  above.xAccess = on_access;
  above.xFullPathname = on_full_pathname;
  return sqlite3_vfs_register(&above, 1);
}
