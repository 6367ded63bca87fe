/* The element `millrace`: a pipeline of filters over raw video.
 *
 *   gst-launch-1.0 filesrc location=in.mp4 ! decodebin ! videoconvert ! millrace pipeline="blur | rotate(6)"
 * ! ...
 *
 * Frames go into a run of millrace.h and come out of it in order, one for each: from buffer to buffer, or,
 * where the run reads a second video, by copies; then the element keeps one frame of a source that is not
 * live back, so that copying and computing overlap. What is said of properties holds from the next start on,
 * which is when the element goes from READY to PAUSED. Everything happens in the streaming thread. */
#include <millrace.h>
#include <string.h>

#include <gst/gst.h>
#include <gst/video/video.h>

#define MILLRACE_TYPE_ELEMENT (millrace_element_get_type())
G_DECLARE_FINAL_TYPE(MillraceElement, millrace_element, MILLRACE, ELEMENT, GstBaseTransform)

/* What can be said of an element. */
typedef struct {
  gchar* pipeline;
  gchar* options;
  guint deadline;
  guint threads;
} Settings;

struct _MillraceElement {
  GstBaseTransform parent;
  /* With the object lock held; the streaming thread alone writes `used`, and reads it without. */
  Settings said; /* by the properties */
  Settings used; /* what was said when it started; without a pipeline before that */
  gchar* report;
  /* Between start and stop. */
  millrace_pipeline* pipeline;
  millrace_run* run;
  GstVideoInfo in;
  GstVideoInfo out;
  gboolean in_place; /* frames are processed where they lie; else: */
  GQueue waiting;    /* buffers whose frames are in the run, the oldest first */
  guint kept;        /* how many of them stay there */
  GMutex waiting_lock;
  /* With this lock held: */
  gboolean stopping; /* the element is on its way to READY */
  gboolean flushing; /* from the beginning of a flush to its end */
  gboolean opening;  /* the run that is waited for has not taken a frame yet */
  millrace_run* waited_for;
};

G_DEFINE_TYPE(MillraceElement, millrace_element, GST_TYPE_BASE_TRANSFORM)
GST_DEBUG_CATEGORY_STATIC(millrace_debug);
#define GST_CAT_DEFAULT millrace_debug

enum { PROP_PIPELINE = 1, PROP_DEADLINE, PROP_THREADS, PROP_OPTIONS, PROP_REPORT };

#if G_BYTE_ORDER == G_LITTLE_ENDIAN
#define WORDS "_10LE, I422_10LE, Y444_10LE, I420_12LE, I422_12LE, Y444_12LE, Y444_16LE, GRAY16_LE"
#define WORD(name) GST_VIDEO_FORMAT_##name##LE
#define GRAY16 GST_VIDEO_FORMAT_GRAY16_LE
#else
#define WORDS "_10BE, I422_10BE, Y444_10BE, I420_12BE, I422_12BE, Y444_12BE, Y444_16BE, GRAY16_BE"
#define WORD(name) GST_VIDEO_FORMAT_##name##BE
#define GRAY16 GST_VIDEO_FORMAT_GRAY16_BE
#endif
#define CAPS GST_VIDEO_CAPS_MAKE("{ I420, Y42B, Y444, GRAY8, I420" WORDS " }")

static const struct {
  GstVideoFormat format;
  gint32 chroma;
  gint32 bits;
} formats[] = {
    {GST_VIDEO_FORMAT_I420, MILLRACE_420, 8}, {GST_VIDEO_FORMAT_Y42B, MILLRACE_422, 8},
    {GST_VIDEO_FORMAT_Y444, MILLRACE_444, 8}, {GST_VIDEO_FORMAT_GRAY8, MILLRACE_GRAY, 8},
    {WORD(I420_10), MILLRACE_420, 10},        {WORD(I422_10), MILLRACE_422, 10},
    {WORD(Y444_10), MILLRACE_444, 10},        {WORD(I420_12), MILLRACE_420, 12},
    {WORD(I422_12), MILLRACE_422, 12},        {WORD(Y444_12), MILLRACE_444, 12},
    {WORD(Y444_16), MILLRACE_444, 16},        {GRAY16, MILLRACE_GRAY, 16},
};

static GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(CAPS));
static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(CAPS));

/* ---- Formats */

static gboolean format_of(GstVideoFormat name, gint width, gint height, millrace_format* format) {
  for (guint i = 0; i < G_N_ELEMENTS(formats); ++i) {
    if (formats[i].format != name) continue;
    const millrace_format found = MILLRACE_FORMAT(width, height, formats[i].chroma, formats[i].bits);
    *format = found;
    return TRUE;
  }
  return FALSE;
}

static GstVideoFormat format_from(const millrace_format* format) {
  for (guint i = 0; i < G_N_ELEMENTS(formats); ++i)
    if (formats[i].chroma == format->chroma && formats[i].bits == format->bits) return formats[i].format;
  return GST_VIDEO_FORMAT_UNKNOWN;
}

static void forget(Settings* settings) {
  g_free(settings->pipeline);
  g_free(settings->options);
  memset(settings, 0, sizeof *settings);
}

/* What holds now, of an element that has not started as well. With the object lock held. */
static const Settings* settings_of(const MillraceElement* self) {
  return self->used.pipeline != NULL ? &self->used : &self->said;
}

/* A pipeline to be asked about formats. NULL: it is wrong. */
static millrace_pipeline* pipeline_of(MillraceElement* self) {
  GST_OBJECT_LOCK(self);
  gchar* text = g_strdup(settings_of(self)->pipeline);
  GST_OBJECT_UNLOCK(self);
  millrace_pipeline* pipeline = NULL;
  if (text != NULL && millrace_pipeline_create(text, &pipeline) != MILLRACE_OK) pipeline = NULL;
  g_free(text);
  return pipeline;
}

/* The shape of samples, in caps that have that of the input. Where they leave it open it stays open. */
static void set_aspect(GstStructure* out, millrace_pipeline* pipeline, const millrace_format* from) {
  gint32 aspect[2] = {1, 1}, made[2]; /* square, where caps do not say */
  const gboolean said = gst_structure_has_field(out, "pixel-aspect-ratio");
  if (said && !gst_structure_get_fraction(out, "pixel-aspect-ratio", &aspect[0], &aspect[1]))
    gst_structure_remove_field(out, "pixel-aspect-ratio");
  else if (millrace_pipeline_aspect(pipeline, from, aspect, made) == MILLRACE_OK &&
           (said || made[0] != made[1]))
    gst_structure_set(out, "pixel-aspect-ratio", GST_TYPE_FRACTION, made[0], made[1], NULL);
}

/* What comes out where all of what goes in is known. */
static GstStructure* made_of(millrace_pipeline* pipeline, const GstStructure* in, const gchar* name,
                             gint width, gint height) {
  millrace_format from, to = MILLRACE_FORMAT(0, 0, MILLRACE_GRAY, 8);
  if (!format_of(gst_video_format_from_string(name), width, height, &from) ||
      millrace_pipeline_format(pipeline, &from, NULL, &to) != MILLRACE_OK)
    return NULL;
  const GstVideoFormat made = format_from(&to);
  if (made == GST_VIDEO_FORMAT_UNKNOWN) return NULL;
  GstStructure* out = gst_structure_copy(in);
  gst_structure_set(out, "format", G_TYPE_STRING, gst_video_format_to_string(made), "width", G_TYPE_INT,
                    to.width, "height", G_TYPE_INT, to.height, NULL);
  set_aspect(out, pipeline, &from);
  if (to.chroma != from.chroma) gst_structure_remove_fields(out, "colorimetry", "chroma-site", NULL);
  return out;
}

/* Any size and any format: what the other side may be where this one is not known. */
static GstStructure* any_of(const GstStructure* from) {
  GstStructure* any = gst_structure_copy(from);
  gst_structure_remove_fields(any, "format", "colorimetry", "chroma-site", "pixel-aspect-ratio", NULL);
  gst_structure_set(any, "width", GST_TYPE_INT_RANGE, 1, 32768, "height", GST_TYPE_INT_RANGE, 1, 32768, NULL);
  return any;
}

static GstCaps* transform_caps(GstBaseTransform* base, GstPadDirection direction, GstCaps* caps,
                               GstCaps* filter) {
  MillraceElement* self = MILLRACE_ELEMENT(base);
  millrace_pipeline* pipeline = direction == GST_PAD_SINK ? pipeline_of(self) : NULL;
  GstCaps* other = gst_caps_new_empty();
  for (guint i = 0; i < gst_caps_get_size(caps); ++i) {
    const GstStructure* from = gst_caps_get_structure(caps, i);
    gint width, height;
    const GValue* name = gst_structure_get_value(from, "format");
    if (pipeline == NULL || name == NULL || !gst_structure_get_int(from, "width", &width) ||
        !gst_structure_get_int(from, "height", &height)) {
      other = gst_caps_merge_structure(other, any_of(from));
      continue;
    }
    const guint names = GST_VALUE_HOLDS_LIST(name) ? gst_value_list_get_size(name) : 1;
    for (guint n = 0; n < names; ++n) {
      const GValue* one = GST_VALUE_HOLDS_LIST(name) ? gst_value_list_get_value(name, n) : name;
      GstStructure* made = made_of(pipeline, from, g_value_get_string(one), width, height);
      if (made != NULL) other = gst_caps_merge_structure(other, made);
    }
  }
  if (pipeline != NULL) millrace_pipeline_free(pipeline);
  GstCaps* possible = gst_pad_get_pad_template_caps(direction == GST_PAD_SINK ? base->srcpad : base->sinkpad);
  GstCaps* narrowed = gst_caps_intersect_full(other, possible, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref(other);
  gst_caps_unref(possible);
  if (filter != NULL) {
    GstCaps* filtered = gst_caps_intersect_full(filter, narrowed, GST_CAPS_INTERSECT_FIRST);
    gst_caps_unref(narrowed);
    narrowed = filtered;
  }
  return narrowed;
}

static gboolean get_unit_size(GstBaseTransform* base, GstCaps* caps, gsize* size) {
  (void)base;
  GstVideoInfo info;
  if (!gst_video_info_from_caps(&info, caps)) return FALSE;
  *size = GST_VIDEO_INFO_SIZE(&info);
  return TRUE;
}

/* Buffers come and go with rows as they lie in memory: whoever makes them need not copy them closer. */
static gboolean propose_allocation(GstBaseTransform* base, GstQuery* decided, GstQuery* asked) {
  if (!GST_BASE_TRANSFORM_CLASS(millrace_element_parent_class)->propose_allocation(base, decided, asked))
    return FALSE;
  gst_query_add_allocation_meta(asked, GST_VIDEO_META_API_TYPE, NULL);
  return TRUE;
}

/* Of what comes out, however long a buffer with such rows is. */
static gboolean transform_size(GstBaseTransform* base, GstPadDirection direction, GstCaps* caps, gsize size,
                               GstCaps* other, gsize* made) {
  (void)direction, (void)caps, (void)size;
  return get_unit_size(base, other, made);
}

/* ---- Runs */

/* A wait for the run may last for ever, for example for a second video that comes through a pipe. So each one
 * is between begin_wait() and end_wait(). FALSE: the element stops, so nothing may wait any more. */
static gboolean begin_wait(MillraceElement* self, gboolean opening) {
  g_mutex_lock(&self->waiting_lock);
  const gboolean may = !self->stopping && !(opening && self->flushing);
  self->waited_for = may ? self->run : NULL;
  self->opening = opening;
  g_mutex_unlock(&self->waiting_lock);
  return may;
}

static void end_wait(MillraceElement* self) {
  g_mutex_lock(&self->waiting_lock);
  self->waited_for = NULL;
  g_mutex_unlock(&self->waiting_lock);
}

/* Ends a wait in any thread, and refuses more of them. */
static void stop_waiting(MillraceElement* self) {
  g_mutex_lock(&self->waiting_lock);
  self->stopping = TRUE;
  if (self->waited_for != NULL) millrace_run_stop(self->waited_for);
  g_mutex_unlock(&self->waiting_lock);
}

/* A run that has taken frames goes on after a flush, unless a wait of the streaming thread becomes long. */
static void begin_flush(MillraceElement* self) {
  g_mutex_lock(&self->waiting_lock);
  self->flushing = TRUE;
  if (self->waited_for != NULL && self->opening) millrace_run_stop(self->waited_for);
  g_mutex_unlock(&self->waiting_lock);
}

static void end_flush(MillraceElement* self) {
  g_mutex_lock(&self->waiting_lock);
  self->flushing = FALSE;
  g_mutex_unlock(&self->waiting_lock);
}

static void allow_waiting(MillraceElement* self) {
  g_mutex_lock(&self->waiting_lock);
  self->stopping = self->flushing = FALSE;
  g_mutex_unlock(&self->waiting_lock);
}

static gboolean is_stopping(MillraceElement* self) {
  g_mutex_lock(&self->waiting_lock);
  const gboolean stopping = self->stopping;
  g_mutex_unlock(&self->waiting_lock);
  return stopping;
}

/* Whether the streaming thread is to return soon. An error is of no interest then. */
static gboolean is_flushing(MillraceElement* self) {
  g_mutex_lock(&self->waiting_lock);
  const gboolean flushing = self->stopping || self->flushing;
  g_mutex_unlock(&self->waiting_lock);
  return flushing;
}

static gboolean failed(MillraceElement* self) {
  if (is_flushing(self)) return FALSE;
  GST_ELEMENT_ERROR(self, STREAM, FAILED, ("%s", millrace_error()), (NULL));
  return FALSE;
}

static void drop_waiting(MillraceElement* self) {
  while (!g_queue_is_empty(&self->waiting))
    gst_buffer_unref(g_queue_pop_head(&self->waiting));
}

static void drop_run(MillraceElement* self) {
  if (self->run != NULL) millrace_run_free(self->run);
  self->run = NULL;
  drop_waiting(self);
}

/* Whether the run came to its end. An element that stops does not wait for a second video. */
static gboolean run_has_ended(MillraceElement* self) {
  if (millrace_run_end(self->run) != MILLRACE_OK) return FALSE;
  const int longest = 1000; /* milliseconds */
  if (is_stopping(self)) return millrace_run_wait(self->run, longest) == MILLRACE_OK;
  if (!begin_wait(self, FALSE)) return FALSE;
  const millrace_code code = millrace_run_wait(self->run, -1);
  end_wait(self);
  return code == MILLRACE_OK;
}

/* Ends a run that has nothing in it any more, or drops what it has. */
static void end_run(MillraceElement* self) {
  if (self->run == NULL) return;
  const char* json;
  if (g_queue_is_empty(&self->waiting) && run_has_ended(self) &&
      millrace_run_report(self->run, &json) == MILLRACE_OK) {
    GST_OBJECT_LOCK(self);
    g_free(self->report);
    self->report = g_strdup(json);
    GST_OBJECT_UNLOCK(self);
    g_object_notify(G_OBJECT(self), "report");
  }
  drop_run(self);
}

/* Options that leave frames out or hold them back. The element would wait for them for ever. */
static gboolean keeps_every_frame(MillraceElement* self, const gchar* option) {
  static const gchar* const refused[] = {"start", "end", "frames", "frames-in-flight", "loop"};
  for (guint i = 0; i < G_N_ELEMENTS(refused); ++i)
    if (g_strcmp0(option, refused[i]) == 0) {
      GST_ELEMENT_ERROR(
          self, RESOURCE, SETTINGS,
          ("the element gives a frame for each one that it gets, so it cannot have the option '%s'; "
           "leave it out, or give the video to 'millrace run'",
           option),
          (NULL));
      return FALSE;
    }
  return TRUE;
}

/* Options as "name=value,name=value". */
static gboolean set_options(MillraceElement* self, const gchar* options) {
  if (options == NULL) return TRUE;
  gchar** parts = g_strsplit(options, ",", -1);
  gboolean good = TRUE;
  for (guint i = 0; good && parts[i] != NULL; ++i) {
    gchar* value = strchr(parts[i], '=');
    if (value != NULL) *value++ = '\0';
    const gchar* name = g_strstrip(parts[i]);
    good = keeps_every_frame(self, name) &&
           (millrace_run_set(self->run, name, value == NULL ? "true" : value) == MILLRACE_OK || failed(self));
  }
  g_strfreev(parts);
  return good;
}

static gboolean set_number(MillraceElement* self, const char* name, guint value) {
  if (value == 0) return TRUE;
  gchar text[16];
  g_snprintf(text, sizeof text, "%u", value);
  return millrace_run_set(self->run, name, text) == MILLRACE_OK || failed(self);
}

/* One that has its options. */
static gboolean create_run(MillraceElement* self) {
  if (millrace_run_create(self->pipeline, &self->run) != MILLRACE_OK) self->run = NULL;
  return (self->run != NULL || failed(self)) && set_number(self, "deadline", self->used.deadline) &&
         set_number(self, "threads", self->used.threads) && set_options(self, self->used.options);
}

/* In place, where a run can do that: one that reads a second video has a thread for that. */
static gboolean start_either_way(MillraceElement* self) {
  self->in_place = millrace_run_start_in_place(self->run) == MILLRACE_OK;
  return self->in_place || millrace_run_start(self->run) == MILLRACE_OK;
}

/* The format of the frames that come out. Waits until the run has opened a second video. */
static gboolean made_format(MillraceElement* self, millrace_format* out) {
  if (!begin_wait(self, TRUE)) return FALSE;
  const millrace_code code = millrace_run_output_format(self->run, out);
  end_wait(self);
  return code == MILLRACE_OK;
}

static gboolean start_run(MillraceElement* self) {
  millrace_format in, out = MILLRACE_FORMAT(0, 0, MILLRACE_GRAY, 8);
  if (!format_of(GST_VIDEO_INFO_FORMAT(&self->in), GST_VIDEO_INFO_WIDTH(&self->in),
                 GST_VIDEO_INFO_HEIGHT(&self->in), &in))
    return FALSE;
  if (GST_VIDEO_INFO_FPS_N(&self->in) > 0) {
    in.rate[0] = GST_VIDEO_INFO_FPS_N(&self->in);
    in.rate[1] = GST_VIDEO_INFO_FPS_D(&self->in);
  }
  if (!create_run(self)) return FALSE;
  if (millrace_run_input_frames(self->run, &in) != MILLRACE_OK ||
      millrace_run_output_frames(self->run) != MILLRACE_OK || !start_either_way(self) ||
      !made_format(self, &out))
    return failed(self);
  if (format_from(&out) != GST_VIDEO_INFO_FORMAT(&self->out) ||
      out.width != GST_VIDEO_INFO_WIDTH(&self->out) || out.height != GST_VIDEO_INFO_HEIGHT(&self->out)) {
    GST_ELEMENT_ERROR(
        self, STREAM, FORMAT,
        ("the pipeline makes frames of %dx%d, and %dx%d was agreed on; leave the option 'planes' out",
         out.width, out.height, GST_VIDEO_INFO_WIDTH(&self->out), GST_VIDEO_INFO_HEIGHT(&self->out)),
        (NULL));
    return FALSE;
  }
  return TRUE;
}

/* Whether what comes from upstream comes in its own time. */
static gboolean is_live(GstBaseTransform* base) {
  GstQuery* query = gst_query_new_latency();
  gboolean live = FALSE;
  if (gst_pad_peer_query(base->sinkpad, query)) gst_query_parse_latency(query, &live, NULL, NULL);
  gst_query_unref(query);
  return live;
}

static gboolean set_caps(GstBaseTransform* base, GstCaps* in, GstCaps* out) {
  MillraceElement* self = MILLRACE_ELEMENT(base);
  end_run(self);
  if (!gst_video_info_from_caps(&self->in, in) || !gst_video_info_from_caps(&self->out, out)) return FALSE;
  if (GST_VIDEO_INFO_IS_INTERLACED(&self->in)) {
    GST_ELEMENT_ERROR(
        self, STREAM, FORMAT,
        ("the fields of interlaced video are not filtered apart; put 'deinterlace' before millrace"), (NULL));
    return FALSE;
  }
  if (!start_run(self)) return FALSE;
  self->kept = self->in_place || is_live(base) ? 0 : 1;
  gst_element_post_message(GST_ELEMENT(self), gst_message_new_latency(GST_OBJECT(self)));
  return TRUE;
}

static gboolean stop(GstBaseTransform* base) {
  MillraceElement* self = MILLRACE_ELEMENT(base);
  end_run(self);
  if (self->pipeline != NULL) millrace_pipeline_free(self->pipeline);
  self->pipeline = NULL;
  GST_OBJECT_LOCK(self);
  forget(&self->used);
  GST_OBJECT_UNLOCK(self);
  return TRUE;
}

static gboolean start(GstBaseTransform* base) {
  MillraceElement* self = MILLRACE_ELEMENT(base);
  allow_waiting(self);
  GST_OBJECT_LOCK(self);
  self->used = self->said;
  self->used.pipeline = g_strdup(self->said.pipeline);
  self->used.options = g_strdup(self->said.options);
  GST_OBJECT_UNLOCK(self);
  gboolean good = FALSE;
  int ahead = 0;
  if (self->used.pipeline == NULL)
    GST_ELEMENT_ERROR(self, RESOURCE, SETTINGS,
                      ("no pipeline; set the property, as pipeline=\"blur | sobel_x\""), (NULL));
  else if (millrace_pipeline_create(self->used.pipeline, &self->pipeline) != MILLRACE_OK ||
           millrace_pipeline_neighbours(self->pipeline, NULL, &ahead) != MILLRACE_OK)
    GST_ELEMENT_ERROR(self, RESOURCE, SETTINGS, ("%s", millrace_error()), (NULL));
  else if (ahead == 0)
    /* Made once for its options, so that what is wrong with them shows before anything flows. */
    good = create_run(self);
  else
    GST_ELEMENT_ERROR(
        self, RESOURCE, SETTINGS,
        ("the pipeline reads %d frames ahead, and each frame is to go on before the next comes; "
         "give the video to 'millrace run'",
         ahead),
        (NULL));
  if (self->run != NULL) millrace_run_free(self->run);
  self->run = NULL;
  if (!good) stop(base);
  return good;
}

/* ---- Frames */

static void point_to(const GstVideoFrame* mapped, millrace_frame* frame) {
  for (guint plane = 0; plane < GST_VIDEO_FRAME_N_PLANES(mapped); ++plane) {
    frame->planes[plane] = GST_VIDEO_FRAME_PLANE_DATA(mapped, plane);
    frame->strides[plane] = GST_VIDEO_FRAME_PLANE_STRIDE(mapped, plane);
  }
}

static gboolean map_in(MillraceElement* self, GstBuffer* buffer, GstVideoFrame* mapped,
                       millrace_frame* frame) {
  if (!gst_video_frame_map(mapped, &self->in, buffer, GST_MAP_READ)) {
    GST_ELEMENT_ERROR(self, STREAM, FAILED, ("a frame that came in cannot be read"), (NULL));
    return FALSE;
  }
  point_to(mapped, frame);
  return TRUE;
}

/* A buffer with the times of the one that its frame is made of. NULL: none is to be had, as `flow` says. */
static GstBuffer* map_out(MillraceElement* self, GstBuffer* in, GstVideoFrame* mapped, millrace_frame* frame,
                          GstFlowReturn* flow) {
  GstBuffer* out = NULL;
  *flow = GST_BASE_TRANSFORM_GET_CLASS(self)->prepare_output_buffer(GST_BASE_TRANSFORM(self), in, &out);
  if (*flow != GST_FLOW_OK) return NULL;
  if (!gst_video_frame_map(mapped, &self->out, out, GST_MAP_WRITE)) {
    GST_ELEMENT_ERROR(self, STREAM, FAILED, ("a frame that goes out cannot be written"), (NULL));
    gst_buffer_unref(out);
    *flow = GST_FLOW_ERROR;
    return NULL;
  }
  point_to(mapped, frame);
  return out;
}

/* The buffer that was made, or none. */
static GstFlowReturn given(MillraceElement* self, millrace_code code, GstBuffer* made, GstBuffer** out) {
  if (code == MILLRACE_OK) {
    *out = made;
    return GST_FLOW_OK;
  }
  failed(self);
  gst_buffer_unref(made);
  return is_flushing(self) ? GST_FLOW_FLUSHING : GST_FLOW_ERROR;
}

static GstFlowReturn process(MillraceElement* self, GstBuffer* in, GstBuffer** out) {
  millrace_frame from = MILLRACE_FRAME, to = MILLRACE_FRAME;
  GstVideoFrame mapped_in, mapped_out;
  GstFlowReturn flow = GST_FLOW_ERROR;
  if (map_in(self, in, &mapped_in, &from)) {
    GstBuffer* made = map_out(self, in, &mapped_out, &to, &flow);
    if (made != NULL) {
      const millrace_code code = millrace_run_process(self->run, &from, &to);
      gst_video_frame_unmap(&mapped_out);
      flow = given(self, code, made, out);
    }
    gst_video_frame_unmap(&mapped_in);
  }
  gst_buffer_unref(in);
  return flow;
}

/* Pushes or pulls a frame. MILLRACE_AGAIN: in vain, as the element stops, or has waited long while it
 * flushes. */
static millrace_code pass(MillraceElement* self, millrace_code (*passes)(millrace_run*, millrace_frame*, int),
                          millrace_frame* frame) {
  const int long_wait = 500; /* milliseconds */
  if (!begin_wait(self, FALSE)) return MILLRACE_AGAIN;
  millrace_code code = MILLRACE_AGAIN;
  do
    code = passes(self->run, frame, long_wait);
  while (code == MILLRACE_AGAIN && !is_flushing(self));
  end_wait(self);
  return code;
}

static millrace_code push_frame(millrace_run* run, millrace_frame* frame, int milliseconds) {
  return millrace_run_push(run, frame, milliseconds);
}

static GstFlowReturn push(MillraceElement* self, GstBuffer* buffer) {
  millrace_frame frame = MILLRACE_FRAME;
  GstVideoFrame mapped;
  if (map_in(self, buffer, &mapped, &frame)) {
    const millrace_code code = pass(self, push_frame, &frame);
    gst_video_frame_unmap(&mapped);
    if (code == MILLRACE_OK) {
      g_queue_push_tail(&self->waiting, buffer);
      return GST_FLOW_OK;
    }
    failed(self);
    if (code == MILLRACE_AGAIN) drop_run(self);
  }
  gst_buffer_unref(buffer);
  return is_flushing(self) ? GST_FLOW_FLUSHING : GST_FLOW_ERROR;
}

/* The oldest frame in the run. */
static GstFlowReturn pull(MillraceElement* self, GstBuffer** out) {
  GstBuffer* in = g_queue_pop_head(&self->waiting);
  millrace_frame frame = MILLRACE_FRAME;
  GstVideoFrame mapped;
  GstFlowReturn flow;
  GstBuffer* made = map_out(self, in, &mapped, &frame, &flow);
  gst_buffer_unref(in);
  if (made == NULL) return flow;
  const millrace_code code = pass(self, millrace_run_pull, &frame);
  gst_video_frame_unmap(&mapped);
  if (code == MILLRACE_AGAIN) drop_run(self); /* it still has the frame */
  return given(self, code, made, out);
}

static GstFlowReturn generate_output(GstBaseTransform* base, GstBuffer** out) {
  MillraceElement* self = MILLRACE_ELEMENT(base);
  *out = NULL;
  GstBuffer* in = base->queued_buf;
  base->queued_buf = NULL;
  if (in == NULL) return GST_FLOW_OK;
  /* Without one: the stream begins again, behind its end. */
  if (self->run == NULL && !start_run(self)) {
    gst_buffer_unref(in);
    return is_flushing(self) ? GST_FLOW_FLUSHING : GST_FLOW_NOT_NEGOTIATED;
  }
  if (self->in_place) return process(self, in, out);
  const GstFlowReturn flow = push(self, in);
  if (flow != GST_FLOW_OK || g_queue_get_length(&self->waiting) <= self->kept) return flow;
  return pull(self, out);
}

/* Never called, as generate_output does not. Without it the base class takes every filter to work in place.
 */
static GstFlowReturn transform(GstBaseTransform* base, GstBuffer* in, GstBuffer* out) {
  (void)base, (void)in, (void)out;
  return GST_FLOW_NOT_SUPPORTED;
}

/* Sends on what is kept back. */
static void drain(MillraceElement* self) {
  GstFlowReturn flow = GST_FLOW_OK;
  while (flow == GST_FLOW_OK && !g_queue_is_empty(&self->waiting)) {
    GstBuffer* out = NULL;
    flow = pull(self, &out);
    if (flow == GST_FLOW_OK) flow = gst_pad_push(GST_BASE_TRANSFORM_SRC_PAD(self), out);
  }
}

static gboolean sink_event(GstBaseTransform* base, GstEvent* event) {
  MillraceElement* self = MILLRACE_ELEMENT(base);
  switch (GST_EVENT_TYPE(event)) {
  case GST_EVENT_EOS:
    drain(self);
    end_run(self);
    break;
  case GST_EVENT_SEGMENT:
  case GST_EVENT_CAPS:
  case GST_EVENT_GAP:
  case GST_EVENT_STREAM_START:
    drain(self);
    break;
  case GST_EVENT_FLUSH_START:
    begin_flush(self);
    break;
  case GST_EVENT_FLUSH_STOP:
    /* Frames from before are of no use to anybody: they are taken and dropped. */
    while (!g_queue_is_empty(&self->waiting)) {
      GstBuffer* out = NULL;
      if (pull(self, &out) != GST_FLOW_OK) break;
      gst_buffer_unref(out);
    }
    end_flush(self);
    break;
  default:
    break;
  }
  return GST_BASE_TRANSFORM_CLASS(millrace_element_parent_class)->sink_event(base, event);
}

static gboolean query(GstBaseTransform* base, GstPadDirection direction, GstQuery* asked) {
  MillraceElement* self = MILLRACE_ELEMENT(base);
  if (!GST_BASE_TRANSFORM_CLASS(millrace_element_parent_class)->query(base, direction, asked)) return FALSE;
  if (direction != GST_PAD_SRC || GST_QUERY_TYPE(asked) != GST_QUERY_LATENCY) return TRUE;
  gboolean live;
  GstClockTime shortest, longest;
  gst_query_parse_latency(asked, &live, &shortest, &longest);
  GST_OBJECT_LOCK(self);
  GstClockTime own = settings_of(self)->deadline * GST_MSECOND;
  GST_OBJECT_UNLOCK(self);
  /* Without a deadline: filtering keeps up, so a frame takes no longer than the time to the next one. */
  GstClockTime frame = 0;
  if (GST_VIDEO_INFO_FPS_N(&self->in) > 0)
    frame =
        gst_util_uint64_scale(GST_SECOND, GST_VIDEO_INFO_FPS_D(&self->in), GST_VIDEO_INFO_FPS_N(&self->in));
  if (own == 0) own = frame;
  own += self->kept * frame;
  gst_query_set_latency(asked, live, shortest + own,
                        longest == GST_CLOCK_TIME_NONE ? longest : longest + own);
  return TRUE;
}

/* ---- The element */

static void set_property(GObject* object, guint id, const GValue* value, GParamSpec* spec) {
  MillraceElement* self = MILLRACE_ELEMENT(object);
  GST_OBJECT_LOCK(self);
  switch (id) {
  case PROP_PIPELINE:
    g_free(self->said.pipeline);
    self->said.pipeline = g_value_dup_string(value);
    break;
  case PROP_OPTIONS:
    g_free(self->said.options);
    self->said.options = g_value_dup_string(value);
    break;
  case PROP_DEADLINE:
    self->said.deadline = g_value_get_uint(value);
    break;
  case PROP_THREADS:
    self->said.threads = g_value_get_uint(value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
  GST_OBJECT_UNLOCK(self);
}

static void get_property(GObject* object, guint id, GValue* value, GParamSpec* spec) {
  MillraceElement* self = MILLRACE_ELEMENT(object);
  GST_OBJECT_LOCK(self);
  switch (id) {
  case PROP_PIPELINE:
    g_value_set_string(value, self->said.pipeline);
    break;
  case PROP_OPTIONS:
    g_value_set_string(value, self->said.options);
    break;
  case PROP_DEADLINE:
    g_value_set_uint(value, self->said.deadline);
    break;
  case PROP_THREADS:
    g_value_set_uint(value, self->said.threads);
    break;
  case PROP_REPORT:
    g_value_set_string(value, self->report);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
  GST_OBJECT_UNLOCK(self);
}

/* The streaming thread must not wait when pads are deactivated, as that waits for it. */
static GstStateChangeReturn change_state(GstElement* element, GstStateChange change) {
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY) stop_waiting(MILLRACE_ELEMENT(element));
  return GST_ELEMENT_CLASS(millrace_element_parent_class)->change_state(element, change);
}

static void finalize(GObject* object) {
  MillraceElement* self = MILLRACE_ELEMENT(object);
  g_mutex_clear(&self->waiting_lock);
  forget(&self->said);
  g_free(self->report);
  G_OBJECT_CLASS(millrace_element_parent_class)->finalize(object);
}

static void millrace_element_init(MillraceElement* self) {
  g_queue_init(&self->waiting);
  g_mutex_init(&self->waiting_lock);
  gst_video_info_init(&self->in);
  gst_video_info_init(&self->out);
  /* A frame that comes late is filtered all the same: one out for each that goes in. */
  gst_base_transform_set_qos_enabled(GST_BASE_TRANSFORM(self), FALSE);
}

static void millrace_element_class_init(MillraceElementClass* of) {
  GObjectClass* object = G_OBJECT_CLASS(of);
  object->set_property = set_property;
  object->get_property = get_property;
  object->finalize = finalize;
  const GParamFlags own = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY;
  g_object_class_install_property(
      object, PROP_PIPELINE,
      g_param_spec_string("pipeline", "Pipeline",
                          "filters, as millrace run takes them: \"blur | sobel_x\", @A", NULL, own));
  g_object_class_install_property(
      object, PROP_DEADLINE,
      g_param_spec_uint("deadline", "Deadline", "milliseconds that a frame may take; 0: as fast as can be", 0,
                        60000, 0, own));
  g_object_class_install_property(object, PROP_THREADS,
                                  g_param_spec_uint("threads", "Threads",
                                                    "the most that work; 0: all that the process may use", 0,
                                                    4096, 0, own));
  g_object_class_install_property(
      object, PROP_OPTIONS,
      g_param_spec_string("options", "Options", "others of millrace run: \"structure=tiled,no-profile\"",
                          NULL, own));
  g_object_class_install_property(object, PROP_REPORT,
                                  g_param_spec_string("report", "Report",
                                                      "what the last run did, as JSON; once it is over", NULL,
                                                      G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));

  GstElementClass* element = GST_ELEMENT_CLASS(of);
  element->change_state = change_state;
  gst_element_class_set_static_metadata(
      element, "millrace", "Filter/Effect/Video",
      "Filters raw video on all cores, by the schedule that is measured to be best", "the millrace authors");
  gst_element_class_add_static_pad_template(element, &sink_template);
  gst_element_class_add_static_pad_template(element, &src_template);

  GstBaseTransformClass* base = GST_BASE_TRANSFORM_CLASS(of);
  base->transform_caps = transform_caps;
  base->get_unit_size = get_unit_size;
  base->transform_size = transform_size;
  base->propose_allocation = propose_allocation;
  base->set_caps = set_caps;
  base->transform = transform;
  base->start = start;
  base->stop = stop;
  base->generate_output = generate_output;
  base->sink_event = sink_event;
  base->query = query;
}

static gboolean plugin_init(GstPlugin* plugin) {
  GST_DEBUG_CATEGORY_INIT(millrace_debug, "millrace", 0, "filters of millrace");
  return gst_element_register(plugin, "millrace", GST_RANK_NONE, MILLRACE_TYPE_ELEMENT);
}

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, millrace, "Filters of millrace", plugin_init, VERSION,
                  "Apache-2.0", PACKAGE, "millrace")
