/* The C interface of libmillrace: pipelines of filters over video files and over frames in memory.
 *
 *   millrace_pipeline* edges;
 *   millrace_run* run;
 *   if (millrace_pipeline_create("blur | sobel_x", &edges) != MILLRACE_OK) return fail(millrace_error());
 *   millrace_run_create(edges, &run);
 *   millrace_run_input(run, "in.mp4");
 *   millrace_run_output(run, "out.mkv");
 *   if (millrace_run_start(run) != MILLRACE_OK || millrace_run_wait(run, -1) != MILLRACE_OK)
 *     fail(millrace_error());
 *   millrace_run_free(run);
 *   millrace_pipeline_free(edges);
 *
 * Input, output or both can also be frames in your own memory: see millrace_run_input_frames,
 * millrace_run_push, millrace_run_output_frames and millrace_run_pull. docs/library.md shows an example.
 *
 * Unless a comment says otherwise, every function may be called from any thread, at any time, with any
 * handle. Handles are numbers that are looked up, not addresses. A handle that is NULL, freed or of another
 * kind gives MILLRACE_USAGE. So does a handle from before a fork: the child creates its own. All other
 * pointers that are not NULL are dereferenced and must be valid. A struct whose `size` is not that of this
 * header's version gives MILLRACE_USAGE, and is not written.
 *
 * No function ends the process, throws, prints or handles signals. Returned strings belong to the library and
 * are zero-terminated. They are UTF-8 if the names of files are. */
#ifndef MILLRACE_H
#define MILLRACE_H

#include "millrace/base/error/export.h"
#include "millrace/version.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The result of a call. The program `millrace` exits with the first three too. */
typedef enum millrace_code {
  MILLRACE_OK = 0,
  MILLRACE_FAILURE = 1,     /* the work failed: the file is damaged, the disk is full */
  MILLRACE_USAGE = 2,       /* the request is invalid; nothing was done */
  MILLRACE_INTERRUPTED = 3, /* the run was stopped */
  MILLRACE_END = 4,         /* no error: there are no more frames */
  MILLRACE_AGAIN = 5        /* no error: the timeout expired, try again */
} millrace_code;

/* The version of the loaded library, for example "0.1.0". MILLRACE_VERSION is that of this header. */
MILLRACE_EXPORT const char* millrace_version(void);

/* One line on why this thread's last call returned MILLRACE_FAILURE, MILLRACE_USAGE or MILLRACE_INTERRUPTED,
 * and what to do about it. "" after any other result. Valid until the thread's next call. */
MILLRACE_EXPORT const char* millrace_error(void);

/* The filters and presets, as `millrace filters --json` prints them. Valid until the process ends. */
MILLRACE_EXPORT millrace_code millrace_filters(const char** json);

/* A description of this machine, as `millrace machine --json` prints it. The machine is examined once; after
 * a failure the next call tries again. Valid until the process ends. */
MILLRACE_EXPORT millrace_code millrace_machine(const char** json);

/* The presentation times of the frames of a video file, in display order, in units of
 * time_base[0]/time_base[1] seconds. They are read from the packets, without decoding, and are exact if the
 * file is intact. MILLRACE_FAILURE if the packets have no times: decode the frames instead.
 *
 * stop: NULL, or a function that this thread calls about ten times a second with `stop_argument`. If it
 * returns nonzero, the call ends with MILLRACE_INTERRUPTED. *times is valid until the thread's next call. */
MILLRACE_EXPORT millrace_code millrace_frame_times(const char* name, int (*stop)(void*), void* stop_argument,
                                                   const int64_t** times, int64_t* count,
                                                   int32_t time_base[2]);

/* ---- Pipelines ------------------------------------------------------------------------------------- */

typedef struct millrace_pipeline millrace_pipeline;

/* text: the pipeline language ("blur | sobel_x"), a preset ("@A"), or the name of a .toml file, which
 * must be a regular file. On an error *pipeline is NULL. */
MILLRACE_EXPORT millrace_code millrace_pipeline_create(const char* text, millrace_pipeline** pipeline);
/* Like millrace_pipeline_create, with filters that the caller defines. They belong to this pipeline and to
 * the runs that use it.
 *
 * filters: JSON, an array of {"name", "summary", "chroma": "filtered"|"passes"|"neutral", "parameters":
 * [{"name", "summary", "unit", "type": "real"|"integer"|"list", "minimum", "maximum", "default"}],
 * "formula", "table": [numbers], "size": {"width": formula, "height": formula}, "frames": [numbers],
 * "geometric": bool}. Only names, ranges and formulas are required. The text must give every parameter that
 * has no "default". A list has 1 to 65536 numbers, must be the last parameter and has no default.
 *
 * A formula is a list of operations, separated by "; ". Operations are numbered from 0, and each refers to
 * results of earlier ones by number. The last one computes the pixel. For example, "inputs 1 coefficients 1;
 * pixel 0 1 -1; coefficient 0; multiply 0 1" is the upper right neighbour times the first parameter.
 *
 * A formula begins with the number of images it reads (1 to 8) and the number of coefficients (0 to 8). The
 * coefficients are the parameters; a list counts as its length. If there is a "size", the width and height
 * of the output plane follow as further coefficients, and "chroma" must not be "passes". Samples are scaled
 * to 0 (least) to 1 (greatest). All values are 32-bit floats with IEEE 754 arithmetic. There can be at most
 * 1024 operations:
 *
 *   constant BITS             a float, its bits in hexadecimal
 *   coefficient K             parameter K
 *   pixel INPUT DX DY         the sample at this offset to the right and down, at most 64; edges replicated
 *   column, row, width, height   position of the pixel in its plane, from 0, and the size of the plane
 *   add, subtract, multiply, divide, minimum, maximum A B
 *   sqrt, absolute, floor, rint A
 *   less, less_equal, equal, not_equal A B, and on two of these: both, either C D
 *   select C A B              A if the condition C holds, else B
 *   pixel_at COLUMN ROW INPUT   the sample at floor(COLUMN), floor(ROW) of the input plane, clamped to it
 *   table A                   entry floor(A), clamped, of "table" followed by the list parameter
 *   loop N FIRST ... end A    repeats the operations between floor(N) times, at most 4096. N is computed
 *                             from constants, coefficients and sizes. Inside, the loop's number is FIRST,
 *                             then A of the previous iteration; afterwards, the number of `end` is the last
 *                             A. At most 3 levels, and 1048576 iterations for a pixel in all: a run that
 *                             needs more is refused at the start
 *   step L                    iteration, from 0, of the enclosing loop L
 *
 * "size": the output size in luma samples. The formulas begin with "inputs 0" and compute it from the input
 * size and the coefficients. A filter with a "size" reads by pixel_at alone.
 * "frames": the images are these frames of one input, relative to the current one: [-1, 0].
 *
 * Results are clamped to +-2^32. Kernels are compiled during runs, like those of fused filters. */
MILLRACE_EXPORT millrace_code millrace_pipeline_create_with(const char* text, const char* filters,
                                                            millrace_pipeline** pipeline);
/* Runs created from it continue. */
MILLRACE_EXPORT millrace_code millrace_pipeline_free(millrace_pipeline* pipeline);
/* The canonical text: the same for equal pipelines. Valid until the pipeline is freed. */
MILLRACE_EXPORT millrace_code millrace_pipeline_text(millrace_pipeline* pipeline, const char** text);
/* The number of frames before and after the current one that the pipeline reads, at most: one of each for
 * "temporal_median". Either pointer may be NULL. */
MILLRACE_EXPORT millrace_code millrace_pipeline_neighbours(millrace_pipeline* pipeline, int* before,
                                                           int* after);

/* Whether the pipeline needs frames with luma and chroma: *needs is 1 if one of its filters combines several
 * planes or works on chroma alone, else 0. */
MILLRACE_EXPORT millrace_code millrace_pipeline_needs_color(millrace_pipeline* pipeline, int* needs);

/* ---- Frames ---------------------------------------------------------------------------------------- */

/* Chroma subsampling. */
typedef enum millrace_chroma {
  MILLRACE_GRAY = 0, /* one plane; the others have three */
  MILLRACE_420 = 1,
  MILLRACE_422 = 2,
  MILLRACE_444 = 3
} millrace_chroma;

/* Samples are integers from 0 to 2^bits - 1: uint8_t for 8 bits, else uint16_t in native byte order. 32 bits
 * mean floats from 0 to 1, only for gray frames in runs started in place. Floats outside 0 to 1 are accepted
 * and not clipped; infinities and NaN are refused. Initialise with MILLRACE_FORMAT(...). */
typedef struct millrace_format {
  size_t size;          /* sizeof(millrace_format), which identifies the version of this struct */
  int32_t width;        /* of luma, 1 to 32768 */
  int32_t height;       /* 1 to 32768 */
  int32_t chroma;       /* millrace_chroma */
  int32_t bits;         /* 8 to 16, or 32 */
  int32_t rate[2];      /* frames per second, as a fraction */
  int32_t time_base[2]; /* seconds per unit of millrace_frame.timestamp, as a fraction; 0/1: no timestamps */
} millrace_format;

#define MILLRACE_FORMAT(width, height, chroma, bits)                                                         \
  {sizeof(millrace_format), (width), (height), (chroma), (bits), {25, 1}, {0, 1}}

/* The number of planes, and the width and height in samples of plane `plane`, which counts from 0. Chroma
 * sizes round up. Each of the three pointers may be NULL. */
MILLRACE_EXPORT millrace_code millrace_format_plane(const millrace_format* format, int plane, int* planes,
                                                    int* width, int* height);

/* The output format of a pipeline for an input format. planes: value of the option of that name; NULL means
 * "auto". Assumes that a second video has the format of the first. Initialise `output` with MILLRACE_FORMAT
 * too. */
MILLRACE_EXPORT millrace_code millrace_pipeline_format(millrace_pipeline* pipeline,
                                                       const millrace_format* input, const char* planes,
                                                       millrace_format* output);
/* The sample aspect ratio (width to height) of the output for that of the input; 0/1 if unknown. "resize"
 * keeps the displayed shape of the picture, "transpose" swaps width and height. */
MILLRACE_EXPORT millrace_code millrace_pipeline_aspect(millrace_pipeline* pipeline,
                                                       const millrace_format* input, const int32_t aspect[2],
                                                       int32_t made[2]);

#define MILLRACE_NO_TIMESTAMP INT64_MIN

/* A frame in memory of the caller. Initialise with MILLRACE_FRAME. */
typedef struct millrace_frame {
  size_t size;          /* sizeof(millrace_frame) */
  void* planes[4];      /* the first sample of the top row of each plane of the format */
  ptrdiff_t strides[4]; /* bytes from one row to the next; negative if the frame is stored bottom-up */
  int64_t timestamp;    /* presentation time in units of the format's time base, or MILLRACE_NO_TIMESTAMP */
} millrace_frame;

#define MILLRACE_FRAME {sizeof(millrace_frame), {0, 0, 0, 0}, {0, 0, 0, 0}, MILLRACE_NO_TIMESTAMP}

/* ---- Runs ------------------------------------------------------------------------------------------ */

/* A run of a pipeline over one video. Create it, set its input, output and options, then start it. If an end
 * is frames of the caller, push or pull them. A run cannot be restarted. It works in its own threads. Several
 * runs can be active at a time: they share the process's workers, which never exceed the CPUs that the
 * process may use. */
typedef struct millrace_run millrace_run;

MILLRACE_EXPORT millrace_code millrace_run_create(millrace_pipeline* pipeline, millrace_run** run);
/* Stops an active run first and waits until it has ended. */
MILLRACE_EXPORT millrace_code millrace_run_free(millrace_run* run);

/* Sets an option of `millrace run` by its long name, without the hyphens: ("threads", "2"), ("deadline",
 * "16"). ("at", "100:rotate.degrees=3") may be given several times. Flags take "true" or "false": ("force",
 * "true") replaces an existing output. ("second", NAME) names the pipeline's second video. Call it before
 * the start. */
MILLRACE_EXPORT millrace_code millrace_run_set(millrace_run* run, const char* name, const char* value);

/* Set one input and at most one output, before the start. Without an output, frames are processed and
 * dropped. name: as for `millrace run`, but not "-". Nothing is opened yet. */
MILLRACE_EXPORT millrace_code millrace_run_input(millrace_run* run, const char* name);
MILLRACE_EXPORT millrace_code millrace_run_input_frames(millrace_run* run, const millrace_format* format);
/* The input is frames made from those of another video, in the format of `origin`. They inherit its colour
 * tags, sample aspect ratio and other properties. An output file also gets its sound, subtitles, chapters and
 * tags, as in a run from file to file; the option no-audio leaves the sound out. For that the other video is
 * opened again. Sound before the first frame or after the last one is left out if the video has frames
 * there. */
typedef struct millrace_origin millrace_origin;
MILLRACE_EXPORT millrace_code millrace_run_input_frames_like(millrace_run* run,
                                                             const millrace_origin* origin);
MILLRACE_EXPORT millrace_code millrace_run_output(millrace_run* run, const char* name);
MILLRACE_EXPORT millrace_code millrace_run_output_frames(millrace_run* run);

/* Refuses settings that are known to be wrong. Later errors, such as a missing file, are reported by the
 * calls below. */
MILLRACE_EXPORT millrace_code millrace_run_start(millrace_run* run);

/* Replaces millrace_run_start if input and output are both frames. The run has no thread: each call of
 * millrace_run_process processes one frame. Do not push or pull; finish with millrace_run_end. Pipelines that
 * read neighbouring frames or a second video are refused. */
MILLRACE_EXPORT millrace_code millrace_run_start_in_place(millrace_run* run);
/* Processes one frame from memory of the caller to memory of the caller, one thread at a time. Planes are
 * copied only if a filter reads from elsewhere, as "rotate" does, if rows of 16-bit samples begin at odd
 * addresses, or if result and frame overlap. After millrace_run_stop it soon returns MILLRACE_INTERRUPTED,
 * even in the middle of a large frame. */
MILLRACE_EXPORT millrace_code millrace_run_process(millrace_run* run, const millrace_frame* from,
                                                   millrace_frame* to);

/* The format of the output frames. Waits until the input has been opened. Initialise `format` with
 * MILLRACE_FORMAT(...). */
MILLRACE_EXPORT millrace_code millrace_run_output_format(millrace_run* run, millrace_format* format);

/* The properties of the output frames, for millrace_run_input_frames_like of another run. Waits until the
 * input has been opened. On an error *origin is NULL. It may outlive the run. */
MILLRACE_EXPORT millrace_code millrace_run_origin(millrace_run* run, millrace_origin** origin);
MILLRACE_EXPORT millrace_code millrace_origin_free(millrace_origin* origin);

/* Copies the next frame into the run, one thread at a time. The memory can be reused at once. milliseconds:
 * timeout while the run's queue is full; negative means no timeout. MILLRACE_AGAIN: the queue is still full,
 * pull a frame. If the run has ended early, returns its error, or MILLRACE_END if it had none. */
MILLRACE_EXPORT millrace_code millrace_run_push(millrace_run* run, const millrace_frame* frame,
                                                int milliseconds);
/* Tells the run that there are no more frames. */
MILLRACE_EXPORT millrace_code millrace_run_end(millrace_run* run);
/* Copies the next finished frame to the memory that `frame` points to and sets its timestamp, one thread at a
 * time. Frames come in input order. Every frame that was pushed can be pulled without pushing more, except
 * those that frames-in-flight or a pipeline's reading ahead holds back until millrace_run_end, and those that
 * the options start, end and frames or a filter leave out. If some may be left out, push until MILLRACE_AGAIN
 * and pull with a timeout. After the last finished frame: MILLRACE_END, or the run's error if it failed. */
MILLRACE_EXPORT millrace_code millrace_run_pull(millrace_run* run, millrace_frame* frame, int milliseconds);
/* Like millrace_run_pull without a copy: points `frame` at the run's own memory, with its strides. The caller
 * may read and write it until it frees *memory, which may outlive the run. An active run reuses freed memory
 * for later frames, so hold few at a time. On anything but MILLRACE_OK *memory is NULL. */
typedef struct millrace_frame_memory millrace_frame_memory;
MILLRACE_EXPORT millrace_code millrace_run_take(millrace_run* run, millrace_frame* frame,
                                                millrace_frame_memory** memory, int milliseconds);
MILLRACE_EXPORT millrace_code millrace_frame_memory_free(millrace_frame_memory* memory);
/* Whether the frame carries data of its own, such as closed captions or a timecode: *has is 1 or 0. */
MILLRACE_EXPORT millrace_code millrace_frame_memory_has_data(const millrace_frame_memory* memory, int* has);
/* Like millrace_run_push, for a frame made from the one in `memory`: it inherits that frame's own data. */
MILLRACE_EXPORT millrace_code millrace_run_push_made_of(millrace_run* run, const millrace_frame* frame,
                                                        const millrace_frame_memory* memory,
                                                        int milliseconds);

/* The number of finished frames and the total, which is -1 if unknown. */
MILLRACE_EXPORT millrace_code millrace_run_progress(millrace_run* run, int64_t* frames, int64_t* total);

/* Ends the run soon. Its output file holds the frames finished until then. */
MILLRACE_EXPORT millrace_code millrace_run_stop(millrace_run* run);

/* Waits for the end and returns the run's result. MILLRACE_USAGE if it would wait for ever because frames are
 * still to be pushed or pulled. After millrace_run_stop, frames that were not pulled are dropped. */
MILLRACE_EXPORT millrace_code millrace_run_wait(millrace_run* run, int milliseconds);

/* After the end: the report that `millrace run --json` prints, with its "decisions"; and a text for people on
 * what was tried and why it was kept or not. Both are valid until the run is freed. */
MILLRACE_EXPORT millrace_code millrace_run_report(millrace_run* run, const char** json);
MILLRACE_EXPORT millrace_code millrace_run_explanation(millrace_run* run, const char** text);

/* ---- Models ---------------------------------------------------------------------------------------- */

/* Predicts the speed of a stream of items through serial and parallel stages, like `millrace model`. Such a
 * pipeline of stages is unrelated to the pipelines of filters above.
 *
 * question: JSON, {"pipeline": "load serial 0.5ms; work 4ms", "threads": [1, 2, 4], "cores", "strategies":
 * ["pools"], "tokens", "queue", "items", "seed", "sticky": false, "formulas": false}. Only the pipeline is
 * required. The members are options of `millrace model`. answer: as `millrace model --json` prints it, valid
 * until the thread's next call of a function for models. */
MILLRACE_EXPORT millrace_code millrace_predict(const char* question, const char** answer);
/* The same for `millrace simulate`: {"pipeline", "machine", "cores", "strategy", "tokens", "queue", "items",
 * "seed", "sticky"}. Takes about 0.2 us per item and stage. */
MILLRACE_EXPORT millrace_code millrace_simulate(const char* question, const char** answer);
/* The same, until stop(stop_argument) returns nonzero; then MILLRACE_INTERRUPTED. This thread calls it about
 * ten times a second. */
MILLRACE_EXPORT millrace_code millrace_predict_until(const char* question, int (*stop)(void*),
                                                     void* stop_argument, const char** answer);
MILLRACE_EXPORT millrace_code millrace_simulate_until(const char* question, int (*stop)(void*),
                                                      void* stop_argument, const char** answer);

#ifdef __cplusplus
}
#endif

#endif /* MILLRACE_H */
