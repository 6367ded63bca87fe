/* Tests of the element `millrace` where elements around it do what they may: seek, flush, begin again, change
 * formats. By GStreamer's own harness: a pad in front and one behind, and nothing else. What frames look like
 * is test_millrace.py's part; here each has one value, by which it is known. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>
#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/video/video.h>
#include <sys/stat.h>

#define GRAY "video/x-raw,format=GRAY8,width=16,height=12,framerate=50/1"
#define FRAME (20 * GST_MSECOND)

/* ---- Around the element */

static GstElement* element_of(const gchar* pipeline, const gchar* options) {
  GstElement* element = gst_element_factory_make("millrace", NULL);
  fail_unless(element != NULL, "the plugin is not where GST_PLUGIN_PATH leads to");
  g_object_set(element, "pipeline", pipeline, "options", options, NULL);
  return element;
}

/* Around an element that has started. Takes it. */
static GstHarness* around(GstElement* element) {
  GstHarness* harness = gst_harness_new_with_element(element, "sink", "src");
  gst_object_unref(element);
  return harness;
}

static GstHarness* harness_of(const gchar* pipeline, const gchar* options, const gchar* caps) {
  GstHarness* harness = around(element_of(pipeline, options));
  gst_harness_set_src_caps_str(harness, caps);
  return harness;
}

/* The caps behind it, as what matters of them. */
static void makes(GstHarness* harness, const gchar* format, gint width, gint height, gint aspect_n,
                  gint aspect_d) {
  GstCaps* caps = gst_pad_get_current_caps(harness->sinkpad);
  fail_unless(caps != NULL);
  GstVideoInfo info;
  fail_unless(gst_video_info_from_caps(&info, caps));
  fail_unless_equals_string(gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&info)), format);
  fail_unless_equals_int(GST_VIDEO_INFO_WIDTH(&info), width);
  fail_unless_equals_int(GST_VIDEO_INFO_HEIGHT(&info), height);
  fail_unless_equals_int(GST_VIDEO_INFO_PAR_N(&info), aspect_n);
  fail_unless_equals_int(GST_VIDEO_INFO_PAR_D(&info), aspect_d);
  gst_caps_unref(caps);
}

static GstBuffer* frame(GstHarness* harness, guint8 value, guint number) {
  GstCaps* caps = gst_pad_get_current_caps(harness->srcpad);
  GstVideoInfo info;
  fail_unless(gst_video_info_from_caps(&info, caps));
  gst_caps_unref(caps);
  GstBuffer* buffer = gst_buffer_new_allocate(NULL, GST_VIDEO_INFO_SIZE(&info), NULL);
  gst_buffer_memset(buffer, 0, value, GST_VIDEO_INFO_SIZE(&info));
  GST_BUFFER_PTS(buffer) = number * FRAME;
  GST_BUFFER_DURATION(buffer) = FRAME;
  return buffer;
}

static void push(GstHarness* harness, guint8 value, guint number) {
  fail_unless_equals_int(gst_harness_push(harness, frame(harness, value, number)), GST_FLOW_OK);
}

/* The next frame behind it. */
static void gives(GstHarness* harness, guint8 value, guint number) {
  GstBuffer* buffer = gst_harness_try_pull(harness);
  fail_unless(buffer != NULL, "no frame where one was to come");
  fail_unless_equals_uint64(GST_BUFFER_PTS(buffer), number * FRAME);
  fail_unless_equals_uint64(GST_BUFFER_DURATION(buffer), FRAME);
  GstMapInfo map;
  fail_unless(gst_buffer_map(buffer, &map, GST_MAP_READ));
  for (gsize at = 0; at < map.size; ++at)
    fail_unless_equals_int(map.data[at], value);
  gst_buffer_unmap(buffer, &map);
  gst_buffer_unref(buffer);
}

static void gives_nothing(GstHarness* harness) {
  fail_unless_equals_int(gst_harness_buffers_in_queue(harness), 0);
}

static void begin_segment(GstHarness* harness) {
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  fail_unless(gst_harness_push_event(harness, gst_event_new_segment(&segment)));
}

static void flush(GstHarness* harness) {
  fail_unless(gst_harness_push_event(harness, gst_event_new_flush_start()));
  fail_unless(gst_harness_push_event(harness, gst_event_new_flush_stop(TRUE)));
  begin_segment(harness);
}

/* A second video of gray frames, with the values 10, 20, 30 ... Free the options that name it. */
static gchar* second_video(guint frames, gchar** options) {
  gchar* name = NULL;
  const gint file = g_file_open_tmp("second-XXXXXX.y4m", &name, NULL);
  fail_unless(file >= 0 && g_close(file, NULL));
  FILE* out = fopen(name, "wb");
  fail_unless(out != NULL);
  fprintf(out, "YUV4MPEG2 W16 H12 F50:1 Ip Cmono\n");
  for (guint i = 1; i <= frames; ++i) {
    fprintf(out, "FRAME\n");
    for (guint at = 0; at < 16 * 12; ++at)
      fputc((int)(10 * i), out);
  }
  fail_unless(fclose(out) == 0);
  *options = g_strdup_printf("no-profile,second=%s", name);
  return name;
}

/* ---- Latency */

static GstClockTime latency(GstHarness* harness, gboolean* live) {
  GstQuery* query = gst_query_new_latency();
  GstClockTime shortest = 0;
  fail_unless(gst_pad_peer_query(harness->sinkpad, query));
  gst_query_parse_latency(query, live, &shortest, NULL);
  gst_query_unref(query);
  return shortest;
}

GST_START_TEST(latency_of_a_live_source_is_its_own_and_the_deadline) {
  GstElement* element = element_of("blur", "no-profile");
  g_object_set(element, "deadline", 70, NULL);
  GstHarness* harness = around(element);
  gst_harness_set_live(harness, TRUE);
  gst_harness_set_upstream_latency(harness, 20 * GST_MSECOND);
  gst_harness_set_src_caps_str(harness, GRAY);
  gboolean live = FALSE;
  fail_unless_equals_uint64(latency(harness, &live), 90 * GST_MSECOND);
  fail_unless(live);
  /* One that is said while it plays holds from the next start on. */
  g_object_set(harness->element, "deadline", 30, NULL);
  fail_unless_equals_uint64(latency(harness, &live), 90 * GST_MSECOND);
  gst_harness_teardown(harness);
}
GST_END_TEST

GST_START_TEST(latency_without_a_deadline_is_the_time_to_the_next_frame) {
  GstHarness* harness = harness_of("blur", "no-profile", GRAY);
  gst_harness_set_upstream_latency(harness, 5 * GST_MSECOND);
  gboolean live = FALSE;
  fail_unless_equals_uint64(latency(harness, &live), 5 * GST_MSECOND + FRAME);
  gst_harness_teardown(harness);
}
GST_END_TEST

GST_START_TEST(latency_has_the_frame_that_is_kept_back_of_a_source_that_is_not_live) {
  gchar* options;
  gchar* second = second_video(4, &options);
  for (gint live_source = 0; live_source <= 1; ++live_source) {
    GstHarness* harness = around(element_of("[input, second] | blend(lighten)", options));
    gst_harness_set_live(harness, live_source);
    gst_harness_set_src_caps_str(harness, GRAY);
    gboolean live = !live_source;
    fail_unless_equals_uint64(latency(harness, &live), live_source ? FRAME : 2 * FRAME);
    fail_unless_equals_int(live, live_source);
    gst_harness_teardown(harness);
  }
  g_remove(second);
  g_free(second);
  g_free(options);
}
GST_END_TEST

GST_START_TEST(a_deadline_is_what_the_run_aims_at) {
  GstElement* element = element_of("blur", "no-profile");
  g_object_set(element, "deadline", 70, NULL);
  GstHarness* harness = around(element);
  gst_harness_set_src_caps_str(harness, GRAY);
  push(harness, 9, 0);
  fail_unless(gst_harness_push_event(harness, gst_event_new_eos()));
  gchar* report = NULL;
  g_object_get(harness->element, "report", &report, NULL);
  fail_unless(report != NULL && strstr(report, "\"deadline 70 ms\"") != NULL, "%s", report);
  g_free(report);
  gst_harness_teardown(harness);
}
GST_END_TEST

/* ---- Formats */

GST_START_TEST(caps_behind_it_are_those_of_what_the_pipeline_makes) {
  static const struct {
    const gchar* pipeline;
    const gchar* aspect;
    const gchar* format;
    gint width, height, aspect_n, aspect_d;
  } cases[] = {
      {"blur", "12/11", "I420", 64, 48, 12, 11},
      {"crop(0.5)", "12/11", "I420", 32, 24, 12, 11},
      {"resize(32, 48)", "1/1", "I420", 32, 48, 2, 1},
      {"resize(32, 48)", NULL, "I420", 32, 48, 2, 1},
      {"resize(32, 24)", "12/11", "I420", 32, 24, 12, 11},
      {"transpose", "12/11", "I420", 48, 64, 11, 12},
      {"crop(0.5) | transpose | resize(48, 0)", "1/1", "I420", 48, 64, 1, 1},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); ++i) {
    gchar* caps = g_strdup_printf("video/x-raw,format=I420,width=64,height=48,framerate=50/1%s%s",
                                  cases[i].aspect == NULL ? "" : ",pixel-aspect-ratio=",
                                  cases[i].aspect == NULL ? "" : cases[i].aspect);
    GstHarness* harness = harness_of(cases[i].pipeline, "no-profile", caps);
    push(harness, 80, 0);
    GST_INFO("%s of %s", cases[i].pipeline, caps);
    makes(harness, cases[i].format, cases[i].width, cases[i].height, cases[i].aspect_n, cases[i].aspect_d);
    g_free(caps);
    gst_harness_teardown(harness);
  }
}
GST_END_TEST

GST_START_TEST(another_format_in_the_middle_of_a_stream_is_followed) {
  GstHarness* harness = harness_of("crop(0.5)", "no-profile", GRAY);
  push(harness, 1, 0);
  gives(harness, 1, 0);
  makes(harness, "GRAY8", 8, 6, 1, 1);
  gst_harness_set_src_caps_str(harness, "video/x-raw,format=GRAY8,width=64,height=48,framerate=50/1");
  push(harness, 2, 1);
  gives(harness, 2, 1);
  makes(harness, "GRAY8", 32, 24, 1, 1);
  gst_harness_set_src_caps_str(harness, "video/x-raw,format=Y444,width=32,height=24,framerate=50/1");
  push(harness, 3, 2);
  gives(harness, 3, 2);
  makes(harness, "Y444", 16, 12, 1, 1);
  gst_harness_teardown(harness);
}
GST_END_TEST

GST_START_TEST(a_frame_that_is_kept_back_goes_on_before_another_format) {
  gchar* options;
  gchar* second = second_video(4, &options);
  GstHarness* harness = around(element_of("[input, second] | blend(lighten)", options));
  gst_harness_set_live(harness, FALSE);
  gst_harness_set_src_caps_str(harness, GRAY);
  push(harness, 3, 0);
  gives_nothing(harness);
  gst_harness_set_src_caps_str(harness, "video/x-raw,format=GRAY8,width=16,height=12,framerate=25/1");
  gives(harness, 10, 0);
  gst_harness_teardown(harness);
  g_remove(second);
  g_free(second);
  g_free(options);
}
GST_END_TEST

GST_START_TEST(rows_may_lie_apart_where_whoever_makes_buffers_says_so) {
  GstHarness* harness = harness_of("blur", "no-profile", GRAY);
  GstCaps* caps = gst_caps_from_string(GRAY);
  GstQuery* query = gst_query_new_allocation(caps, TRUE);
  fail_unless(gst_pad_peer_query(harness->srcpad, query));
  fail_unless(gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL),
              "decoders are not told that rows may lie apart, and copy frames");
  gst_query_unref(query);
  gst_caps_unref(caps);

  GstBuffer* buffer = gst_buffer_new_allocate(NULL, 40 * 13, NULL);
  gst_buffer_memset(buffer, 0, 255, 40 * 13);
  for (guint y = 0; y < 12; ++y)
    gst_buffer_memset(buffer, 8 + 40 * y, 7, 16);
  gsize offsets[GST_VIDEO_MAX_PLANES] = {8};
  gint strides[GST_VIDEO_MAX_PLANES] = {40};
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 16, 12, 1,
                                 offsets, strides);
  GST_BUFFER_PTS(buffer) = 0;
  GST_BUFFER_DURATION(buffer) = FRAME;
  fail_unless_equals_int(gst_harness_push(harness, buffer), GST_FLOW_OK);
  gives(harness, 7, 0);
  gst_harness_teardown(harness);
}
GST_END_TEST

GST_START_TEST(a_buffer_that_is_too_short_is_an_error_in_one_line) {
  GstHarness* harness = harness_of("blur", "no-profile", GRAY);
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(harness->element, bus);
  fail_unless_equals_int(gst_harness_push(harness, gst_buffer_new_allocate(NULL, 100, NULL)), GST_FLOW_ERROR);
  GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
  fail_unless(message != NULL);
  GError* error = NULL;
  gst_message_parse_error(message, &error, NULL);
  fail_unless_equals_string(error->message, "a frame that came in cannot be read");
  g_error_free(error);
  gst_message_unref(message);
  push(harness, 5, 1);
  gives(harness, 5, 1);
  gst_element_set_bus(harness->element, NULL);
  gst_object_unref(bus);
  gst_harness_teardown(harness);
}
GST_END_TEST

/* ---- The course of a stream */

GST_START_TEST(frames_after_a_flush_are_their_own) {
  GstHarness* harness = harness_of("blur", "no-profile", GRAY);
  for (guint round = 0; round < 3; ++round) {
    for (guint i = 0; i < 3; ++i)
      push(harness, (guint8)(10 * round + i), i);
    for (guint i = 0; i < 3; ++i)
      gives(harness, (guint8)(10 * round + i), i);
    flush(harness);
  }
  gst_harness_teardown(harness);
}
GST_END_TEST

GST_START_TEST(a_frame_that_is_kept_back_is_dropped_by_a_flush_and_sent_on_by_a_gap_and_by_the_end) {
  gchar* options;
  gchar* second = second_video(9, &options);
  GstHarness* harness = around(element_of("[input, second] | blend(lighten)", options));
  gst_harness_set_live(harness, FALSE);
  gst_harness_set_src_caps_str(harness, GRAY);
  push(harness, 1, 0);
  gives_nothing(harness);
  flush(harness);
  gives_nothing(harness);
  /* The second video goes on: a frame of it for each that came. */
  push(harness, 2, 1);
  push(harness, 3, 2);
  gives(harness, 20, 1);
  gives_nothing(harness);
  fail_unless(gst_harness_push_event(harness, gst_event_new_gap(3 * FRAME, FRAME)));
  gives(harness, 30, 2);
  push(harness, 4, 4);
  gives_nothing(harness);
  fail_unless(gst_harness_push_event(harness, gst_event_new_eos()));
  gives(harness, 40, 4);
  /* Behind the end both begin anew. */
  flush(harness);
  push(harness, 5, 0);
  fail_unless(gst_harness_push_event(harness, gst_event_new_eos()));
  gives(harness, 10, 0);
  gst_harness_teardown(harness);
  g_remove(second);
  g_free(second);
  g_free(options);
}
GST_END_TEST

GST_START_TEST(a_stream_begins_again_behind_its_end) {
  GstHarness* harness = harness_of("blur", "no-profile", GRAY);
  for (guint round = 0; round < 3; ++round) {
    push(harness, (guint8)round, 0);
    gives(harness, (guint8)round, 0);
    gchar* report = NULL;
    fail_unless(gst_harness_push_event(harness, gst_event_new_eos()));
    g_object_get(harness->element, "report", &report, NULL);
    fail_unless(report != NULL && strstr(report, "\"frames\": 1") != NULL, "%s", report);
    g_free(report);
    flush(harness);
  }
  gst_harness_teardown(harness);
}
GST_END_TEST

GST_START_TEST(a_pipeline_that_is_said_while_it_plays_holds_from_the_next_start_on) {
  GstHarness* harness = harness_of("blur", "no-profile", GRAY);
  push(harness, 1, 0);
  gives(harness, 1, 0);
  g_object_set(harness->element, "pipeline", "crop(0.5)", "options", "structur=tiled", NULL);
  push(harness, 2, 1);
  gives(harness, 2, 1);
  makes(harness, "GRAY8", 16, 12, 1, 1);
  /* Also where a run begins in between. */
  gst_harness_set_src_caps_str(harness, "video/x-raw,format=GRAY8,width=64,height=48,framerate=50/1");
  push(harness, 3, 2);
  gives(harness, 3, 2);
  makes(harness, "GRAY8", 64, 48, 1, 1);
  gst_harness_teardown(harness);
}
GST_END_TEST

/* A whole GStreamer pipeline with what came out of it. */
typedef struct {
  GstElement* all;
  GstElement* element;
  guint frames;
  gsize bytes; /* of the last one */
  GstClockTime first;
} Played;

static void handed_over(GstElement* sink, GstBuffer* buffer, GstPad* pad, gpointer data) {
  (void)sink, (void)pad;
  Played* played = data;
  if (played->frames++ == 0) played->first = GST_BUFFER_PTS(buffer);
  played->bytes = gst_buffer_get_size(buffer);
}

static void play_to_the_end(Played* played) {
  fail_unless(gst_element_set_state(played->all, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE);
  GstBus* bus = gst_element_get_bus(played->all);
  GstMessage* message =
      gst_bus_timed_pop_filtered(bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  fail_unless(GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS, "%" GST_PTR_FORMAT, message);
  gst_message_unref(message);
  gst_object_unref(bus);
}

static Played played_of(const gchar* source) {
  Played played = {0};
  gchar* text = g_strdup_printf("%s ! " GRAY " ! millrace name=element pipeline=blur options=no-profile ! "
                                "fakesink name=sink sync=false signal-handoffs=true",
                                source);
  played.all = gst_parse_launch(text, NULL);
  fail_unless(played.all != NULL, text);
  g_free(text);
  played.element = gst_bin_get_by_name(GST_BIN(played.all), "element");
  return played;
}

static void watch(Played* played) {
  GstElement* sink = gst_bin_get_by_name(GST_BIN(played->all), "sink");
  g_signal_connect(sink, "handoff", G_CALLBACK(handed_over), played);
  gst_object_unref(sink);
}

static void end(Played* played) {
  fail_unless_equals_int(gst_element_set_state(played->all, GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
  gst_object_unref(played->element);
  gst_object_unref(played->all);
}

GST_START_TEST(seeks_lead_where_they_are_to_lead) {
  Played played = played_of("videotestsrc num-buffers=-1");
  watch(&played);
  gst_element_set_state(played.all, GST_STATE_PAUSED);
  fail_unless_equals_int(gst_element_get_state(played.all, NULL, NULL, GST_CLOCK_TIME_NONE),
                         GST_STATE_CHANGE_SUCCESS);
  for (gint64 begin = 4; begin >= 0; begin -= 2) { /* backwards, behind an end */
    played.frames = 0;
    fail_unless(gst_element_seek(played.all, 1, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE,
                                 GST_SEEK_TYPE_SET, begin * (gint64)GST_SECOND, GST_SEEK_TYPE_SET,
                                 (begin + 1) * (gint64)GST_SECOND));
    play_to_the_end(&played);
    fail_unless_equals_uint64(played.first, (guint64)begin * GST_SECOND);
    fail_unless_equals_int(played.frames, 50);
  }
  end(&played);
}
GST_END_TEST

GST_START_TEST(a_pipeline_that_was_said_holds_once_it_starts_again) {
  Played played = played_of("videotestsrc num-buffers=5");
  watch(&played);
  play_to_the_end(&played);
  fail_unless_equals_int(played.frames, 5);
  fail_unless_equals_int(played.bytes, 16 * 12);
  gst_element_set_state(played.all, GST_STATE_READY);
  played.frames = 0;
  g_object_set(played.element, "pipeline", "crop(0.5)", NULL);
  play_to_the_end(&played);
  fail_unless_equals_int(played.frames, 5);
  fail_unless_equals_int(played.bytes, 8 * 6);
  end(&played);
}
GST_END_TEST

/* ---- Waits that have no end */

/* Of a second video that does not come, or not yet: a pipe that nobody writes to, but which is open. */
typedef struct {
  gchar* folder;
  gchar* name;
  gchar* options;
  int end;
} Silent;

static Silent silent_video(const gchar* header) {
  Silent silent;
  silent.folder = g_dir_make_tmp("second-XXXXXX", NULL);
  silent.name = g_build_filename(silent.folder, "video.y4m", NULL);
  silent.options = g_strdup_printf("no-profile,second=%s", silent.name);
  fail_unless(mkfifo(silent.name, 0600) == 0);
  silent.end = -1;
  if (header == NULL) return silent;
  silent.end = open(silent.name, O_RDWR);
  fail_unless(write(silent.end, header, strlen(header)) == (gssize)strlen(header));
  return silent;
}

static void remove_silent(Silent* silent) {
  if (silent->end >= 0) close(silent->end);
  g_remove(silent->name);
  g_rmdir(silent->folder);
  g_free(silent->name);
  g_free(silent->folder);
  g_free(silent->options);
}

typedef struct {
  GstHarness* harness;
  gboolean stops; /* it is to become READY; else to flush */
} Ending;

/* Ends what the streaming thread does, some time after it began. */
static gpointer end_it(gpointer data) {
  Ending* ending = data;
  g_usleep(200000); /* before or in the wait: both must end */
  if (ending->stops) {
    const GstStateChangeReturn changed = gst_element_set_state(ending->harness->element, GST_STATE_NULL);
    fail_unless_equals_int(changed, GST_STATE_CHANGE_SUCCESS);
  } else {
    fail_unless(gst_harness_push_event(ending->harness, gst_event_new_flush_start()));
  }
  return NULL;
}

/* A frame, and the end while it waits. The test ends in time, or by its timeout. */
static void ends_while_a_frame_waits(const gchar* header, gboolean stops) {
  Silent silent = silent_video(header);
  GstHarness* harness = around(element_of("[input, second] | blend(lighten)", silent.options));
  gst_harness_set_live(harness, TRUE);
  Ending ending = {harness, stops};
  GThread* thread = g_thread_new("ending", end_it, &ending);
  GstCaps* caps = gst_caps_from_string(GRAY);
  /* Not by gst_harness_set_src_caps(), which insists on success. */
  gst_harness_push_event(harness, gst_event_new_stream_start("frames"));
  gst_harness_push_event(harness, gst_event_new_caps(caps));
  gst_caps_unref(caps);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(harness, gst_event_new_segment(&segment));
  GstBuffer* buffer = gst_buffer_new_allocate(NULL, 16 * 12, NULL);
  GST_BUFFER_PTS(buffer) = 0;
  fail_unless(gst_harness_push(harness, buffer) != GST_FLOW_OK);
  g_thread_join(thread);
  gives_nothing(harness);
  gst_harness_teardown(harness);
  remove_silent(&silent);
}

GST_START_TEST(a_second_video_without_a_writer_does_not_keep_it_from_stopping) {
  ends_while_a_frame_waits(NULL, TRUE);
}
GST_END_TEST

GST_START_TEST(a_second_video_without_a_writer_does_not_keep_it_from_flushing) {
  ends_while_a_frame_waits(NULL, FALSE);
}
GST_END_TEST

GST_START_TEST(a_second_video_that_pauses_does_not_keep_it_from_stopping) {
  ends_while_a_frame_waits("YUV4MPEG2 W16 H12 F50:1 Ip Cmono\n", TRUE);
}
GST_END_TEST

GST_START_TEST(a_second_video_that_pauses_does_not_keep_it_from_flushing) {
  ends_while_a_frame_waits("YUV4MPEG2 W16 H12 F50:1 Ip Cmono\n", FALSE);
}
GST_END_TEST

static Suite* millrace_suite(void) {
  Suite* suite = suite_create("millrace");
  TCase* all = tcase_create("element");
  tcase_set_timeout(all, 60);
  suite_add_tcase(suite, all);
  tcase_add_test(all, latency_of_a_live_source_is_its_own_and_the_deadline);
  tcase_add_test(all, latency_without_a_deadline_is_the_time_to_the_next_frame);
  tcase_add_test(all, latency_has_the_frame_that_is_kept_back_of_a_source_that_is_not_live);
  tcase_add_test(all, a_deadline_is_what_the_run_aims_at);
  tcase_add_test(all, caps_behind_it_are_those_of_what_the_pipeline_makes);
  tcase_add_test(all, another_format_in_the_middle_of_a_stream_is_followed);
  tcase_add_test(all, a_frame_that_is_kept_back_goes_on_before_another_format);
  tcase_add_test(all, rows_may_lie_apart_where_whoever_makes_buffers_says_so);
  tcase_add_test(all, a_buffer_that_is_too_short_is_an_error_in_one_line);
  tcase_add_test(all, frames_after_a_flush_are_their_own);
  tcase_add_test(all, a_frame_that_is_kept_back_is_dropped_by_a_flush_and_sent_on_by_a_gap_and_by_the_end);
  tcase_add_test(all, a_stream_begins_again_behind_its_end);
  tcase_add_test(all, a_pipeline_that_is_said_while_it_plays_holds_from_the_next_start_on);
  tcase_add_test(all, seeks_lead_where_they_are_to_lead);
  tcase_add_test(all, a_pipeline_that_was_said_holds_once_it_starts_again);
  tcase_add_test(all, a_second_video_without_a_writer_does_not_keep_it_from_stopping);
  tcase_add_test(all, a_second_video_without_a_writer_does_not_keep_it_from_flushing);
  tcase_add_test(all, a_second_video_that_pauses_does_not_keep_it_from_stopping);
  tcase_add_test(all, a_second_video_that_pauses_does_not_keep_it_from_flushing);
  return suite;
}

GST_CHECK_MAIN(millrace)
