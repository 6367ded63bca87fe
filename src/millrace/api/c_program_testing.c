/* A C program that uses the library: compiled as C11, called by api_test.cpp. */
#include "millrace/api/millrace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The types of all functions, which must not change. */
static const char* (*const version)(void) = millrace_version;
static const char* (*const error)(void) = millrace_error;
static millrace_code (*const filters)(const char**) = millrace_filters;
static millrace_code (*const machine)(const char**) = millrace_machine;
static millrace_code (*const pipeline_create)(const char*, millrace_pipeline**) = millrace_pipeline_create;
static millrace_code (*const pipeline_create_with)(const char*, const char*,
                                                   millrace_pipeline**) = millrace_pipeline_create_with;
static millrace_code (*const pipeline_free)(millrace_pipeline*) = millrace_pipeline_free;
static millrace_code (*const pipeline_text)(millrace_pipeline*, const char**) = millrace_pipeline_text;
static millrace_code (*const pipeline_neighbours)(millrace_pipeline*, int*,
                                                  int*) = millrace_pipeline_neighbours;
static millrace_code (*const format_plane)(const millrace_format*, int, int*, int*,
                                           int*) = millrace_format_plane;
static millrace_code (*const pipeline_format)(millrace_pipeline*, const millrace_format*, const char*,
                                              millrace_format*) = millrace_pipeline_format;
static millrace_code (*const pipeline_aspect)(millrace_pipeline*, const millrace_format*, const int32_t*,
                                              int32_t*) = millrace_pipeline_aspect;
static millrace_code (*const run_create)(millrace_pipeline*, millrace_run**) = millrace_run_create;
static millrace_code (*const run_free)(millrace_run*) = millrace_run_free;
static millrace_code (*const run_set)(millrace_run*, const char*, const char*) = millrace_run_set;
static millrace_code (*const run_input)(millrace_run*, const char*) = millrace_run_input;
static millrace_code (*const run_input_frames)(millrace_run*,
                                               const millrace_format*) = millrace_run_input_frames;
static millrace_code (*const run_output)(millrace_run*, const char*) = millrace_run_output;
static millrace_code (*const run_output_frames)(millrace_run*) = millrace_run_output_frames;
static millrace_code (*const run_start)(millrace_run*) = millrace_run_start;
static millrace_code (*const run_output_format)(millrace_run*, millrace_format*) = millrace_run_output_format;
static millrace_code (*const run_start_in_place)(millrace_run*) = millrace_run_start_in_place;
static millrace_code (*const run_process)(millrace_run*, const millrace_frame*,
                                          millrace_frame*) = millrace_run_process;
static millrace_code (*const run_push)(millrace_run*, const millrace_frame*, int) = millrace_run_push;
static millrace_code (*const run_end)(millrace_run*) = millrace_run_end;
static millrace_code (*const run_pull)(millrace_run*, millrace_frame*, int) = millrace_run_pull;
static millrace_code (*const run_take)(millrace_run*, millrace_frame*, millrace_frame_memory**,
                                       int) = millrace_run_take;
static millrace_code (*const frame_memory_free)(millrace_frame_memory*) = millrace_frame_memory_free;
static millrace_code (*const frame_memory_has_data)(const millrace_frame_memory*,
                                                    int*) = millrace_frame_memory_has_data;
static millrace_code (*const run_push_made_of)(millrace_run*, const millrace_frame*,
                                               const millrace_frame_memory*, int) = millrace_run_push_made_of;
static millrace_code (*const run_origin)(millrace_run*, millrace_origin**) = millrace_run_origin;
static millrace_code (*const origin_free)(millrace_origin*) = millrace_origin_free;
static millrace_code (*const run_input_frames_like)(millrace_run*,
                                                    const millrace_origin*) = millrace_run_input_frames_like;
static millrace_code (*const pipeline_needs_color)(millrace_pipeline*, int*) = millrace_pipeline_needs_color;
static millrace_code (*const frame_times)(const char*, int (*)(void*), void*, const int64_t**, int64_t*,
                                          int32_t*) = millrace_frame_times;
static millrace_code (*const run_progress)(millrace_run*, int64_t*, int64_t*) = millrace_run_progress;
static millrace_code (*const run_stop)(millrace_run*) = millrace_run_stop;
static millrace_code (*const run_wait)(millrace_run*, int) = millrace_run_wait;
static millrace_code (*const run_report)(millrace_run*, const char**) = millrace_run_report;
static millrace_code (*const run_explanation)(millrace_run*, const char**) = millrace_run_explanation;
static millrace_code (*const predict)(const char*, const char**) = millrace_predict;
static millrace_code (*const simulate)(const char*, const char**) = millrace_simulate;
static millrace_code (*const predict_until)(const char*, int (*)(void*), void*,
                                            const char**) = millrace_predict_until;
static millrace_code (*const simulate_until)(const char*, int (*)(void*), void*,
                                             const char**) = millrace_simulate_until;

/* The layouts of structs on 64-bit machines, which must not change either. */
_Static_assert(sizeof(void*) != 8 || sizeof(millrace_format) == 40, "the layout of millrace_format");
_Static_assert(sizeof(void*) != 8 || sizeof(millrace_frame) == 80, "the layout of millrace_frame");
_Static_assert(MILLRACE_OK == 0 && MILLRACE_FAILURE == 1 && MILLRACE_USAGE == 2 &&
                   MILLRACE_INTERRUPTED == 3 && MILLRACE_END == 4 && MILLRACE_AGAIN == 5,
               "the codes");

enum { width = 33, height = 21, stride = 48 };

#define CHECK(condition)                                                                                     \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      snprintf(message, size, "line %d: " #condition "; %s", __LINE__, error());                             \
      return 0;                                                                                              \
    }                                                                                                        \
  } while (0)

/* One frame through a custom filter: every pixel becomes its right neighbour, with the edge replicated. */
static int own_filter(char* message, size_t size) {
  static const char* const moved = "[{\"name\": \"moved\", \"formula\": "
                                   "\"inputs 1 coefficients 0; pixel 0 1 0\"}]";
  unsigned char before[8 * 4], after[8 * 4];
  millrace_pipeline* pipeline = NULL;
  millrace_run* run = NULL;
  CHECK(pipeline_create_with("moved", moved, &pipeline) == MILLRACE_OK);
  CHECK(run_create(pipeline, &run) == MILLRACE_OK && pipeline_free(pipeline) == MILLRACE_OK);
  const millrace_format format = MILLRACE_FORMAT(8, 4, MILLRACE_GRAY, 8);
  CHECK(run_input_frames(run, &format) == MILLRACE_OK && run_output_frames(run) == MILLRACE_OK);
  CHECK(run_set(run, "no-profile", "true") == MILLRACE_OK && run_start_in_place(run) == MILLRACE_OK);
  for (int i = 0; i < 8 * 4; ++i)
    before[i] = (unsigned char)(i * 37);
  millrace_frame in = MILLRACE_FRAME, out = MILLRACE_FRAME;
  in.planes[0] = before;
  out.planes[0] = after;
  in.strides[0] = out.strides[0] = 8;
  CHECK(run_process(run, &in, &out) == MILLRACE_OK);
  for (int i = 0; i < 8 * 4; ++i)
    CHECK(after[i] == before[(i & 7) == 7 ? i : i + 1]);
  CHECK(run_free(run) == MILLRACE_OK);
  return 1;
}

static int models(char* message, size_t size) {
  const char* answer = NULL;
  CHECK(predict("{\"pipeline\": \"load serial 1ms; work 4ms\", \"threads\": [1, 2], \"formulas\": true}",
                &answer) == MILLRACE_OK);
  CHECK(strstr(answer, "\"millrace.model\"") != NULL && strstr(answer, "\"recommended\"") != NULL);
  CHECK(simulate("{\"pipeline\": \"work 4ms cv 0\", \"cores\": 2, \"items\": 1000}", &answer) == MILLRACE_OK);
  CHECK(strstr(answer, "\"items_out\": 1000") != NULL);
  CHECK(predict("{\"pipeline\": \"work\"}", &answer) == MILLRACE_USAGE && answer == NULL);
  return 1;
}

/* Frames of one run go through another one. */
static int of_another(char* message, size_t size) {
  millrace_pipeline* pipeline = NULL;
  millrace_run *reading = NULL, *writing = NULL;
  millrace_origin* origin = NULL;
  int needs = -1;
  CHECK(pipeline_create("crop(1)", &pipeline) == MILLRACE_OK);
  CHECK(pipeline_needs_color(pipeline, &needs) == MILLRACE_OK && needs == 0);
  CHECK(run_create(pipeline, &reading) == MILLRACE_OK && run_create(pipeline, &writing) == MILLRACE_OK);
  CHECK(pipeline_free(pipeline) == MILLRACE_OK);
  CHECK(run_input(reading, "test:16x8@3") == MILLRACE_OK && run_output_frames(reading) == MILLRACE_OK);
  CHECK(run_start(reading) == MILLRACE_OK && run_origin(reading, &origin) == MILLRACE_OK);
  CHECK(run_input_frames_like(writing, origin) == MILLRACE_OK && origin_free(origin) == MILLRACE_OK);
  CHECK(run_input_frames_like(writing, origin) == MILLRACE_USAGE);
  CHECK(run_output(writing, "null") == MILLRACE_OK && run_start(writing) == MILLRACE_OK);
  millrace_frame frame = MILLRACE_FRAME;
  millrace_frame_memory* memory = NULL;
  while (run_take(reading, &frame, &memory, -1) == MILLRACE_OK) {
    int has = -1;
    CHECK(frame_memory_has_data(memory, &has) == MILLRACE_OK && has == 0);
    CHECK(run_push_made_of(writing, &frame, memory, -1) == MILLRACE_OK);
    CHECK(frame_memory_free(memory) == MILLRACE_OK);
    CHECK(run_push_made_of(writing, &frame, memory, -1) == MILLRACE_USAGE);
  }
  CHECK(run_end(writing) == MILLRACE_OK && run_wait(writing, -1) == MILLRACE_OK);
  int64_t frames = 0;
  CHECK(run_progress(writing, &frames, NULL) == MILLRACE_OK && frames == 3);
  CHECK(run_free(reading) == MILLRACE_OK && run_free(writing) == MILLRACE_OK);
  const int64_t* times = NULL;
  int32_t base[2];
  CHECK(frame_times("test:16x8@3", NULL, NULL, &times, &frames, base) == MILLRACE_FAILURE && times == NULL);
  return 1;
}

/* Three gray frames, thresholded to their bright half, one after the other. Returns whether everything
 * worked; otherwise `message` says what did not. */
int c_program(char* message, size_t size) {
  static unsigned char before[height * stride], after[height * stride];
  CHECK(strcmp(version(), MILLRACE_VERSION) == 0);
  const char* text = NULL;
  CHECK(filters(&text) == MILLRACE_OK && strstr(text, "sobel_x") != NULL);
  CHECK(machine(&text) == MILLRACE_OK && strstr(text, "cpus") != NULL);

  millrace_pipeline* pipeline = NULL;
  CHECK(pipeline_create("threshold( 0.5 )", &pipeline) == MILLRACE_OK);
  CHECK(pipeline_text(pipeline, &text) == MILLRACE_OK && strcmp(text, "threshold(0.5)") == 0);
  const millrace_format format = MILLRACE_FORMAT(width, height, MILLRACE_GRAY, 8);
  millrace_format made = MILLRACE_FORMAT(0, 0, 0, 0);
  CHECK(pipeline_format(pipeline, &format, NULL, &made) == MILLRACE_OK && made.width == width &&
        made.bits == 8);
  int planes = 0, columns = 0, rows = 0;
  CHECK(format_plane(&format, 0, &planes, &columns, &rows) == MILLRACE_OK);
  CHECK(planes == 1 && columns == width && rows == height);

  millrace_run* run = NULL;
  CHECK(run_create(pipeline, &run) == MILLRACE_OK);
  CHECK(pipeline_free(pipeline) == MILLRACE_OK);
  CHECK(run_input(run, "never.mkv") == MILLRACE_OK && run_output(run, "null") == MILLRACE_OK);
  CHECK(run_input_frames(run, &format) == MILLRACE_OK && run_output_frames(run) == MILLRACE_OK);
  CHECK(run_set(run, "no-profile", "true") == MILLRACE_OK);
  CHECK(run_start(run) == MILLRACE_OK);
  CHECK(run_output_format(run, &made) == MILLRACE_OK && made.height == height);
  millrace_frame in = MILLRACE_FRAME, out = MILLRACE_FRAME;
  in.planes[0] = before;
  in.strides[0] = stride;
  out.planes[0] = after;
  out.strides[0] = stride;
  for (int frame = 0; frame < 3; ++frame) {
    for (int i = 0; i < height * stride; ++i)
      before[i] = (unsigned char)(i * 7 + frame * 31);
    memset(after, 99, sizeof after);
    CHECK(run_push(run, &in, -1) == MILLRACE_OK);
    CHECK(run_pull(run, &out, -1) == MILLRACE_OK);
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < stride; ++x)
        CHECK(after[y * stride + x] == (x >= width                      ? 99
                                        : before[y * stride + x] >= 128 ? before[y * stride + x]
                                                                        : 0));
  }
  millrace_frame own = MILLRACE_FRAME;
  millrace_frame_memory* memory = NULL;
  CHECK(run_push(run, &in, -1) == MILLRACE_OK && run_take(run, &own, &memory, -1) == MILLRACE_OK);
  for (int y = 0; y < height; ++y)
    CHECK(memcmp((const char*)own.planes[0] + y * own.strides[0], after + y * stride, width) == 0);
  CHECK(frame_memory_free(memory) == MILLRACE_OK);
  CHECK(run_end(run) == MILLRACE_OK);
  CHECK(run_pull(run, &out, -1) == MILLRACE_END && strcmp(error(), "") == 0);
  CHECK(run_wait(run, -1) == MILLRACE_OK);
  int64_t frames = 0, total = 0;
  CHECK(run_progress(run, &frames, &total) == MILLRACE_OK && frames == 4 && total == -1);
  CHECK(run_report(run, &text) == MILLRACE_OK && strstr(text, "\"decisions\"") != NULL);
  CHECK(run_explanation(run, &text) == MILLRACE_OK && strstr(text, "candidates") != NULL);
  CHECK(run_stop(run) == MILLRACE_OK);
  CHECK(run_free(run) == MILLRACE_OK);
  CHECK(run_free(run) == MILLRACE_USAGE && strstr(error(), "freed") != NULL);
  return own_filter(message, size) && of_another(message, size) && models(message, size);
}
