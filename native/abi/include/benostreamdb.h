/* The C interface of BenoStreamDB. Requests and answers are the messages of native/abi/proto/benostream.proto. */

#ifndef BENOSTREAMDB_H
#define BENOSTREAMDB_H

/* Generated from native/abi/src/capi.rs by the test header.rs. Do not edit. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The Arrow C data and stream interfaces, as their specification gives them. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
  const char *format;
  const char *name;
  const char *metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema **children;
  struct ArrowSchema *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers;
  struct ArrowArray **children;
  struct ArrowArray *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};

#endif /* ARROW_C_DATA_INTERFACE */

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
  int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
  const char *(*get_last_error)(struct ArrowArrayStream *);
  void (*release)(struct ArrowArrayStream *);
  void *private_data;
};

#endif /* ARROW_C_STREAM_INTERFACE */


// The version of the functions and messages this header describes.
#define BSDB_ABI_VERSION 1

// `bsdb_reader_next`: the split has no more rows.
#define BSDB_END 0

// `bsdb_reader_next`: the array holds a batch.
#define BSDB_BATCH 1

// `bsdb_reader_next`: the time limit passed; call again.
#define BSDB_PENDING 2

// `bsdb_reader_next`: so many bytes must be granted first.
#define BSDB_NEED_MEMORY 3

// What the code of an error means. 0 is success.
enum BsdbErrorKind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Success.
  BSDB_ERROR_KIND_OK = 0,
  // The request is wrong and must be changed.
  BSDB_ERROR_KIND_INVALID_INPUT = 1,
  // The named thing does not exist.
  BSDB_ERROR_KIND_NOT_FOUND = 2,
  // The named thing exists already.
  BSDB_ERROR_KIND_ALREADY_EXISTS = 3,
  // Somebody else committed first; plan again on the new state.
  BSDB_ERROR_KIND_CONFLICT = 4,
  // It is unknown whether the commit landed; nothing may be deleted.
  BSDB_ERROR_KIND_COMMIT_UNKNOWN = 5,
  // The store or the policy refuses.
  BSDB_ERROR_KIND_PERMISSION_DENIED = 6,
  // Not supported, and not silently ignored.
  BSDB_ERROR_KIND_UNSUPPORTED = 7,
  // A store or service did not answer; trying again may help.
  BSDB_ERROR_KIND_UNAVAILABLE = 8,
  // A limit would be exceeded.
  BSDB_ERROR_KIND_RESOURCE_EXHAUSTED = 9,
  // The caller cancelled.
  BSDB_ERROR_KIND_CANCELLED = 10,
  // Stored bytes are damaged.
  BSDB_ERROR_KIND_CORRUPT = 11,
  // A broken assumption of the engine.
  BSDB_ERROR_KIND_INTERNAL = 12,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum BsdbErrorKind BsdbErrorKind;
#else
typedef int32_t BsdbErrorKind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The error of the last call of this thread that failed.
typedef struct BsdbError {
  // A code of `BsdbErrorKind`.
  int32_t kind;
  // Whether the same call may succeed later without change.
  bool retryable;
  // UTF-8 text, valid until the next call of this thread.
  const char *message;
} BsdbError;

// Bytes of the library, freed by `bsdb_bytes_free`.
typedef struct BsdbBytes {
  // The first byte, or null.
  uint8_t *data;
  // How many there are.
  size_t len;
} BsdbBytes;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version this library speaks; must equal `BSDB_ABI_VERSION`.
uint32_t bsdb_abi_version(void);

// The build of this library; splits and commit messages of another build are refused.
const char *bsdb_build_id(void);

// Why the last call of this thread failed; kind 0 if it did not.
//
// # Safety
// `target` is null or points to writable memory for a `BsdbError`.
void bsdb_last_error(struct BsdbError *target);

// Frees bytes of the library and empties the struct; empty bytes are left alone.
//
// # Safety
// `value` is null or points to bytes that this library filled or that are zero.
void bsdb_bytes_free(struct BsdbBytes *value);

// Opens a session; the request is an `OpenSession`.
//
// # Safety
// Addresses are null or valid for their lengths and types.
int32_t bsdb_session_open(const uint8_t *request, size_t request_len, uint64_t *session);

// Closes a session, a table, a reader or a writer. Closing twice is an error, not a crash.
int32_t bsdb_close(uint64_t handle);

// Ends what runs on a session, reader or writer with kind `Cancelled`; may come from any thread.
int32_t bsdb_cancel(uint64_t handle);

// Namespaces and tables: a `CatalogRequest` is answered by a `CatalogResponse`.
//
// # Safety
// Addresses are null or valid for their lengths and types.
int32_t bsdb_catalog(uint64_t session, const uint8_t *request, size_t request_len, struct BsdbBytes *answer);

// Opens a table at one snapshot; the request is an `OpenTable`.
//
// # Safety
// Addresses are null or valid for their lengths and types.
int32_t bsdb_table_open(uint64_t session, const uint8_t *request, size_t request_len, uint64_t *table);

// Answers with a `TableDescription`.
//
// # Safety
// `answer` is null or writable.
int32_t bsdb_table_describe(uint64_t table, struct BsdbBytes *answer);

// Plans a scan or search: a `ScanRequest` is answered by a `ScanPlan`.
//
// # Safety
// Addresses are null or valid for their lengths and types.
int32_t bsdb_plan_scan(uint64_t table, const uint8_t *request, size_t request_len, struct BsdbBytes *answer);

// Opens a split, in any process. With `account` batches wait for `bsdb_reader_grant`.
//
// # Safety
// Addresses are null or valid for their lengths and types.
int32_t bsdb_split_open(uint64_t session,
                        const uint8_t *split,
                        size_t split_len,
                        bool account,
                        uint64_t *reader);

// Fills an empty `ArrowSchema` with the columns of every batch.
//
// # Safety
// `schema` is null or points to memory of a struct that holds nothing to release.
int32_t bsdb_reader_schema(uint64_t reader, struct ArrowSchema *schema);

// Waits at most `timeout_ms` and sets `state` to BSDB_END, BSDB_BATCH (then `array` was empty and is
// filled), BSDB_PENDING or BSDB_NEED_MEMORY (then `needed` says how many bytes to grant).
//
// # Safety
// Addresses are null or valid for their types; `array` holds nothing to release.
int32_t bsdb_reader_next(uint64_t reader,
                         struct ArrowArray *array,
                         uint64_t timeout_ms,
                         int32_t *state,
                         uint64_t *needed);

// Allows a reader that accounts memory so many bytes more.
int32_t bsdb_reader_grant(uint64_t reader, uint64_t bytes);

// Releases a batch, as its own `release` does; one that is released already is left alone.
//
// # Safety
// `array` is null or points to an `ArrowArray`.
void bsdb_array_release(struct ArrowArray *array);

// Opens a split as an `ArrowArrayStream`; its errors are errno and text only.
//
// # Safety
// Addresses are null or valid; `target` holds nothing to release.
int32_t bsdb_stream_open(uint64_t session,
                         const uint8_t *split,
                         size_t split_len,
                         struct ArrowArrayStream *target);

// What tasks need to write: a `WriteSpecRequest` is answered by bytes for `bsdb_write_begin`.
//
// # Safety
// Addresses are null or valid for their lengths and types.
int32_t bsdb_write_spec(uint64_t table, const uint8_t *request, size_t request_len, struct BsdbBytes *answer);

// Begins to write, in any process.
//
// # Safety
// Addresses are null or valid for their lengths and types.
int32_t bsdb_write_begin(uint64_t session, const uint8_t *spec, size_t spec_len, uint64_t *writer);

// Writes a batch. The structs are consumed, the values copied before the call returns.
//
// # Safety
// Addresses are null or point to structs of the Arrow C data interface.
int32_t bsdb_write_append(uint64_t writer, struct ArrowArray *array, struct ArrowSchema *schema);

// Deletes rows of the data file `file` (UTF-8) by position.
//
// # Safety
// Addresses are null or valid for their lengths and types.
int32_t bsdb_write_delete(uint64_t writer,
                          const uint8_t *file,
                          size_t file_len,
                          const uint64_t *positions,
                          size_t position_count);

// Ends writing and closes the writer; answers with bytes for a `CommitRequest`.
//
// # Safety
// `answer` is null or writable.
int32_t bsdb_write_finish(uint64_t writer, struct BsdbBytes *answer);

// Deletes what was written and closes the writer.
int32_t bsdb_write_abort(uint64_t writer);

// Publishes what was written: a `CommitRequest` is answered by a `CommitResult`.
//
// # Safety
// Addresses are null or valid for their lengths and types.
int32_t bsdb_commit(uint64_t table, const uint8_t *request, size_t request_len, struct BsdbBytes *answer);

// Indexes: a `MaintainRequest` is answered by a `MaintainResponse`.
//
// # Safety
// Addresses are null or valid for their lengths and types.
int32_t bsdb_maintain(uint64_t table, const uint8_t *request, size_t request_len, struct BsdbBytes *answer);

// Builds one piece of an index, in any process; the answer goes into a `CommitIndex`.
//
// # Safety
// Addresses are null or valid for their lengths and types.
int32_t bsdb_index_build_piece(uint64_t session,
                               const uint8_t *piece,
                               size_t piece_len,
                               struct BsdbBytes *answer);

// Answers with `Metrics`.
//
// # Safety
// `answer` is null or writable.
int32_t bsdb_metrics(struct BsdbBytes *answer);

// For language bindings that check themselves: a `SelfTest` gives a batch back, as Arrow or as text
// (`Rendered`), or fails as asked. `in_*` are consumed where the test takes a batch.
//
// # Safety
// Addresses are null or valid for their lengths and types; `out_*` hold nothing to release.
int32_t bsdb_self_test(const uint8_t *request,
                       size_t request_len,
                       struct ArrowArray *in_array,
                       struct ArrowSchema *in_schema,
                       struct ArrowArray *out_array,
                       struct ArrowSchema *out_schema,
                       struct BsdbBytes *answer);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* BENOSTREAMDB_H */
