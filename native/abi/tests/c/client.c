// A client in plain C: writes a table, scans it batch by batch and as a stream, handles errors, checks
// that memory is given back and that a forked child is refused. Prints "ok" at the end.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "benostreamdb.h"

// ---- as much protobuf as this program needs --------------------------------------------------

typedef struct {
  uint8_t bytes[1 << 16];
  size_t len;
} Message;

static void put_varint(Message *m, uint64_t value) {
  while (value >= 128) {
    m->bytes[m->len++] = (uint8_t)(value | 128);
    value >>= 7;
  }
  m->bytes[m->len++] = (uint8_t)value;
}

static void put_number(Message *m, int field, uint64_t value) {
  put_varint(m, (uint64_t)field << 3);
  put_varint(m, value);
}

static void put_bytes(Message *m, int field, const void *bytes, size_t len) {
  put_varint(m, (uint64_t)field << 3 | 2);
  put_varint(m, len);
  memcpy(m->bytes + m->len, bytes, len);
  m->len += len;
}

static void put_text(Message *m, int field, const char *text) { put_bytes(m, field, text, strlen(text)); }

static void put_message(Message *m, int field, const Message *inner) {
  put_bytes(m, field, inner->bytes, inner->len);
}

static uint64_t get_varint(const uint8_t **at) {
  uint64_t value = 0;
  int shift = 0;
  do {
    value |= (uint64_t)(**at & 127) << shift;
    shift += 7;
  } while (*(*at)++ & 128);
  return value;
}

// The first length-delimited field of this number.
static const uint8_t *find_bytes(const uint8_t *at, size_t len, uint64_t field, size_t *found) {
  const uint8_t *end = at + len;
  while (at < end) {
    uint64_t key = get_varint(&at);
    uint64_t size = get_varint(&at);
    if ((key & 7) == 0) continue;
    if (key >> 3 == field) {
      *found = size;
      return at;
    }
    at += size;
  }
  return NULL;
}

// ---- checks ------------------------------------------------------------------------------------

static void check(int32_t code, const char *what) {
  if (code == 0) return;
  BsdbError error;
  bsdb_last_error(&error);
  fprintf(stderr, "%s: error %d: %s\n", what, error.kind, error.message);
  exit(1);
}

static void expect(int truth, const char *what) {
  if (truth) return;
  fprintf(stderr, "not true: %s\n", what);
  exit(1);
}

static void expect_error(int32_t code, int32_t kind, const char *part) {
  BsdbError error;
  bsdb_last_error(&error);
  if (code == kind && error.kind == kind && strstr(error.message, part) != NULL) return;
  fprintf(stderr, "expected error %d with '%s', got %d: %s\n", kind, part, code, error.message);
  exit(1);
}

static Message versioned(void) {
  Message m = {.len = 0};
  put_number(&m, 1, BSDB_ABI_VERSION);
  return m;
}

// ---- a batch of three rows: id long, name string -------------------------------------------------

static int64_t ids[3] = {1, 2, 3};
static uint8_t valid[1] = {5};
static int32_t offsets[4] = {0, 3, 3, 5};
static char texts[] = "onetw";
static int released;

static void release_array(struct ArrowArray *array) {
  released++;
  array->release = NULL;
}

static void release_schema(struct ArrowSchema *schema) { schema->release = NULL; }

static void append(uint64_t writer) {
  const void *id_buffers[2] = {NULL, ids};
  const void *name_buffers[3] = {valid, offsets, texts};
  const void *no_buffers[1] = {NULL};
  struct ArrowArray id = {.length = 3, .n_buffers = 2, .buffers = id_buffers, .release = release_array};
  struct ArrowArray name = {
      .length = 3, .null_count = 1, .n_buffers = 3, .buffers = name_buffers, .release = release_array};
  struct ArrowArray *columns[2] = {&id, &name};
  struct ArrowArray batch = {.length = 3, .n_buffers = 1, .buffers = no_buffers, .n_children = 2, .children = columns,
                             .release = release_array};
  struct ArrowSchema id_field = {.format = "l", .name = "id", .release = release_schema};
  struct ArrowSchema name_field = {.format = "u", .name = "name", .flags = ARROW_FLAG_NULLABLE, .release = release_schema};
  struct ArrowSchema *fields[2] = {&id_field, &name_field};
  struct ArrowSchema schema = {.format = "+s", .name = "", .n_children = 2, .children = fields, .release = release_schema};
  check(bsdb_write_append(writer, &batch, &schema), "append");
  expect(released == 1 && batch.release == NULL && schema.release == NULL, "the batch was consumed");
  ids[0] = 99;  // the values were copied
}

// ---- steps ---------------------------------------------------------------------------------------

static uint64_t open_session(void) {
  Message request = versioned();
  uint64_t session = 0;
  check(bsdb_session_open(request.bytes, request.len, &session), "open session");
  return session;
}

static Message table_name(const char *location) {
  Message name = {.len = 0};
  put_text(&name, 3, location);
  return name;
}

static void create_table(uint64_t session, const char *location) {
  Message id_type = {.len = 0}, name_type = {.len = 0}, id = {.len = 0}, name = {.len = 0};
  put_number(&id_type, 1, 3);
  put_number(&name_type, 1, 11);
  put_text(&id, 2, "id");
  put_message(&id, 3, &id_type);
  put_text(&name, 2, "name");
  put_message(&name, 3, &name_type);
  Message create = {.len = 0}, table = table_name(location), request = versioned();
  put_message(&create, 1, &table);
  put_message(&create, 2, &id);
  put_message(&create, 2, &name);
  put_message(&request, 8, &create);
  BsdbBytes answer = {0};
  check(bsdb_catalog(session, request.bytes, request.len, &answer), "create table");
  bsdb_bytes_free(&answer);
  expect_error(bsdb_catalog(session, request.bytes, request.len, &answer), BSDB_ERROR_KIND_ALREADY_EXISTS, location);
}

static uint64_t open_table(uint64_t session, const char *location) {
  Message table = table_name(location), request = versioned();
  put_message(&request, 2, &table);
  uint64_t handle = 0;
  check(bsdb_table_open(session, request.bytes, request.len, &handle), "open table");
  return handle;
}

static void write_rows(uint64_t session, uint64_t table) {
  Message request = versioned();
  BsdbBytes spec = {0}, message = {0}, result = {0};
  check(bsdb_write_spec(table, request.bytes, request.len, &spec), "write spec");
  uint64_t writer = 0;
  check(bsdb_write_begin(session, spec.data, spec.len, &writer), "begin write");
  append(writer);
  check(bsdb_write_finish(writer, &message), "finish");
  expect_error(bsdb_write_abort(writer), BSDB_ERROR_KIND_INVALID_INPUT, "table writer");
  Message commit = versioned();
  put_number(&commit, 2, 1);
  put_bytes(&commit, 3, message.data, message.len);
  check(bsdb_commit(table, commit.bytes, commit.len, &result), "commit");
  bsdb_bytes_free(&spec);
  bsdb_bytes_free(&message);
  bsdb_bytes_free(&result);
}

static int64_t sum_ids(const struct ArrowArray *batch) {
  const int64_t *values = batch->children[0]->buffers[1];
  int64_t sum = 0;
  for (int64_t i = 0; i < batch->length; i++) sum += values[i];
  return sum;
}

static int64_t read_batches(uint64_t session, const uint8_t *split, size_t len) {
  uint64_t reader = 0, needed = 0;
  check(bsdb_split_open(session, split, len, true, &reader), "open split");
  struct ArrowSchema schema = {0};
  check(bsdb_reader_schema(reader, &schema), "schema");
  expect(schema.n_children == 2 && strcmp(schema.children[1]->name, "name") == 0, "columns");
  schema.release(&schema);
  int64_t sum = 0;
  for (int32_t state = BSDB_PENDING; state != BSDB_END;) {
    struct ArrowArray batch = {0};
    check(bsdb_reader_next(reader, &batch, 1000, &state, &needed), "next");
    if (state == BSDB_NEED_MEMORY) {
      check(bsdb_reader_grant(reader, needed), "grant");
    } else if (state == BSDB_BATCH) {
      sum += sum_ids(&batch);
      bsdb_array_release(&batch);
      bsdb_array_release(&batch);
    }
  }
  expect(needed > 0, "memory was accounted");
  check(bsdb_close(reader), "close reader");
  return sum;
}

static int64_t read_stream(uint64_t session, const uint8_t *split, size_t len) {
  struct ArrowArrayStream stream = {0};
  check(bsdb_stream_open(session, split, len, &stream), "open stream");
  int64_t sum = 0;
  while (1) {
    struct ArrowArray batch = {0};
    expect(stream.get_next(&stream, &batch) == 0, "stream gives a batch");
    if (batch.release == NULL) break;
    sum += sum_ids(&batch);
    batch.release(&batch);
  }
  stream.release(&stream);
  return sum;
}

static void scan(uint64_t session, uint64_t table) {
  Message request = versioned();
  BsdbBytes plan = {0};
  check(bsdb_plan_scan(table, request.bytes, request.len, &plan), "plan");
  size_t planned_len = 0, split_len = 0;
  const uint8_t *planned = find_bytes(plan.data, plan.len, 2, &planned_len);
  expect(planned != NULL, "the plan has a split");
  const uint8_t *split = find_bytes(planned, planned_len, 1, &split_len);
  expect(read_batches(session, split, split_len) == 6, "ids by batches");
  expect(read_stream(session, split, split_len) == 6, "ids by stream");
  bsdb_bytes_free(&plan);
  bsdb_bytes_free(&plan);
}

static void handle_errors(uint64_t session, const char *location) {
  char missing[4096];
  snprintf(missing, sizeof missing, "%s_missing", location);
  Message table = table_name(missing), request = versioned();
  put_message(&request, 2, &table);
  uint64_t handle = 0;
  expect_error(bsdb_table_open(session, request.bytes, request.len, &handle), BSDB_ERROR_KIND_NOT_FOUND, "_missing");
  expect_error(bsdb_table_open(session, (const uint8_t *)"\xff\xff", 2, &handle), BSDB_ERROR_KIND_INVALID_INPUT, "not readable");
  expect_error(bsdb_split_open(session, NULL, 5, false, &handle), BSDB_ERROR_KIND_INVALID_INPUT, "null");
}

static void refuse_fork(uint64_t session) {
  pid_t child = fork();
  if (child == 0) {
    expect_error(bsdb_cancel(session), BSDB_ERROR_KIND_UNSUPPORTED, "forked");
    _exit(42);
  }
  int status = 0;
  waitpid(child, &status, 0);
  expect(WIFEXITED(status) && WEXITSTATUS(status) == 42, "a forked child is refused");
}

static void check_memory(void) {
  BsdbBytes metrics = {0};
  check(bsdb_metrics(&metrics), "metrics");
  const uint8_t *at = metrics.data, *end = metrics.data + metrics.len;
  while (at < end) {
    uint64_t key = get_varint(&at), value = get_varint(&at);
    if ((key & 7) == 2) at += value;
    expect(key != (4 << 3) || value == 0, "no native bytes are outstanding");
  }
  bsdb_bytes_free(&metrics);
}

int main(int argc, char **argv) {
  expect(argc == 2, "the table's location is given");
  expect(bsdb_abi_version() == BSDB_ABI_VERSION, "library and header agree");
  expect(strlen(bsdb_build_id()) > 0, "the build is named");
  uint64_t session = open_session();
  create_table(session, argv[1]);
  uint64_t table = open_table(session, argv[1]);
  write_rows(session, table);
  check(bsdb_close(table), "close table");
  expect_error(bsdb_close(table), BSDB_ERROR_KIND_INVALID_INPUT, "table handle");
  table = open_table(session, argv[1]);
  scan(session, table);
  handle_errors(session, argv[1]);
  refuse_fork(session);
  check(bsdb_close(table), "close table");
  check(bsdb_close(session), "close session");
  check_memory();
  puts("ok");
  return 0;
}
