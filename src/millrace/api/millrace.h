/* millrace: pipelines of filters over video files and over frames in memory. The C interface of libmillrace.
 *
 *   millrace_pipeline* edges;
 *   millrace_run* run;
 *   if (millrace_pipeline_create("blur | sobel_x", &edges) != MILLRACE_OK) return fail(millrace_error());
 *   millrace_run_create(edges, &run);
 *   millrace_run_input(run, "in.mp4");
 *   millrace_run_output(run, "out.mkv");
 *   if (millrace_run_start(run) != MILLRACE_OK || millrace_run_wait(run, -1) != MILLRACE_OK)
 * fail(millrace_error()); millrace_run_free(run); millrace_pipeline_free(edges);
 *
 * Either end may be frames of the caller's own: millrace_run_input_frames and millrace_run_push,
 * millrace_run_output_frames and millrace_run_pull. docs/library.md shows it.
 *
 * Every function may be called from any thread, at any time, with any handle, but for what says otherwise:
 * handles are numbers that are looked up, not addresses. One that is NULL, was freed or is another's is
 * refused as MILLRACE_USAGE, as is one from before a fork in the child, which makes its own. What else is
 * passed must be what it is said to be: pointers that are not NULL are followed.
 *
 * No function ends the process, throws, prints, or takes a signal. Texts that are handed out are UTF-8 where
 * names of files are, end with a 0, and belong to the library. */
#ifndef MILLRACE_H
#define MILLRACE_H

#include "millrace/base/export.h"
#include "millrace/version.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What came of a call. The first three are the exit codes of the program `millrace` as well. */
typedef enum millrace_code {
  MILLRACE_OK = 0,
  MILLRACE_FAILURE = 1,     /* the work failed: the file is damaged, the disk is full */
  MILLRACE_USAGE = 2,       /* something impossible was asked for; nothing was done */
  MILLRACE_INTERRUPTED = 3, /* the run was stopped */
  MILLRACE_END = 4,         /* there are no more frames; no error */
  MILLRACE_AGAIN = 5        /* not within the time given, try again; no error */
} millrace_code;

/* Of the library at run time, as MILLRACE_VERSION is of this header: "0.1.0". */
MILLRACE_EXPORT const char* millrace_version(void);

/* Why the last call in this thread came to MILLRACE_FAILURE, MILLRACE_USAGE or MILLRACE_INTERRUPTED: one line
 * that names the thing and the way out; "" where it did not. Until the thread's next call. */
MILLRACE_EXPORT const char* millrace_error(void);

/* What a pipeline can be made of, as `millrace filters --json` has it. Until the process ends. */
MILLRACE_EXPORT millrace_code millrace_filters(const char** json);

/* What is known of this machine, as `millrace machine --json` has it, when it is first known. Until the
 * process ends. After a failure the next call looks again. */
MILLRACE_EXPORT millrace_code millrace_machine(const char** json);

/* When the frames of a video file are shown, in the order in which they are, without decoding them: as its
 * packets say, which is the truth of files that are whole. In units of time_base[0]/time_base[1] seconds.
 * MILLRACE_FAILURE if the packets do not tell: decode the frames to see.
 *
 * stop: NULL, or a function that is called some ten times a second in this thread, with its argument. If it
 * does not return 0, the call ends as MILLRACE_INTERRUPTED. *times is valid until the thread's next call. */
MILLRACE_EXPORT millrace_code millrace_frame_times(const char* name, int (*stop)(void*), void* stop_argument,
                                                   const int64_t** times, int64_t* count,
                                                   int32_t time_base[2]);

/* ---- Pipelines ------------------------------------------------------------------------------------- */

typedef struct millrace_pipeline millrace_pipeline;

/* text: in the pipeline language ("blur | sobel_x"), a preset ("@A"), or the name of a .toml file. On an
 * error *pipeline is NULL. */
MILLRACE_EXPORT millrace_code millrace_pipeline_create(const char* text, millrace_pipeline** pipeline);
/* The same, where the text may name filters of the caller's own beside those of millrace.
 *
 * filters: JSON, an array of {"name", "summary", "chroma": "filtered"|"passes"|"neutral", "parameters":
 * [{"name", "summary", "unit", "type": "real"|"integer"|"list", "minimum", "maximum", "default"}],
 * "formula", "table": [numbers], "size": {"width": formula, "height": formula}, "frames": [numbers],
 * "geometric": bool}; only names, ranges and formulas must be there. A parameter without "default" must be
 * given in the text; a list, of 1 to 65536 numbers, is the last one and has none. Filters belong to this
 * pipeline and what is made of it.
 *
 * A formula is a list of operations, divided by "; ", each on what earlier ones made, by their numbers from
 * 0; the last one makes the pixel: "inputs 1 coefficients 1; pixel 0 1 -1; coefficient 0; multiply 0 1" is
 * the upper right neighbour times the first parameter. In front, how many images it reads (1 to 8) and how
 * many coefficients there are (0 to 8): the parameters, of a list its length; where there is a "size", the
 * width and the height of the plane that is made behind them. Samples are numbers, 0 to 1 from the least to
 * the greatest. All are 32-bit floats; the operations, at most 1024, are those of IEEE 754:
 *
 *   constant BITS             a float, its bits in hexadecimal
 *   coefficient K             parameter K
 *   pixel INPUT DX DY         so far to the right and down, at most 64; edges are replicated
 *   column, row, width, height   where the pixel is in its plane, from 0, and how large that is
 *   add, subtract, multiply, divide, minimum, maximum A B
 *   sqrt, absolute, floor, rint A
 *   less, less_equal, equal, not_equal A B, and of two of these: both, either C D
 *   select C A B              A where the condition C holds, else B
 *   pixel_at COLUMN ROW INPUT   at floor(COLUMN) and floor(ROW) of the plane that is read; the nearest
 *   table A                   number floor(A) of "table", behind which the list lies; the nearest
 *   loop N FIRST ... end A    what is between is done floor(N) times, at most 4096, N being of constants,
 *                             coefficients and sizes; within, its number is FIRST, then what A was the last
 *                             time; behind, the number of `end` is the last A. At most 3 in each other,
 *                             and 1048576 times in all for a pixel: more are refused when a run starts
 *   step L                    how often loop L, which is around, was gone through before
 *
 * "size": what is made, in luma samples, of the width and height of what is read and of the coefficients of
 * the parameters, by formulas that begin with "inputs 0"; the formula then reads by pixel_at alone. "frames":
 * its images are these frames of one image, counted from the one that is made: [-1, 0].
 *
 * What comes out is held within +-2^32. Kernels are compiled while runs go on, as those of fused filters. */
MILLRACE_EXPORT millrace_code millrace_pipeline_create_with(const char* text, const char* filters,
                                                            millrace_pipeline** pipeline);
/* Runs that were made of it go on. */
MILLRACE_EXPORT millrace_code millrace_pipeline_free(millrace_pipeline* pipeline);
/* In one spelling for equal pipelines. Until the pipeline is freed. */
MILLRACE_EXPORT millrace_code millrace_pipeline_text(millrace_pipeline* pipeline, const char** text);
/* How many frames before and after the one it makes a pipeline reads at most, as "temporal_median" does one
 * of each. Either pointer may be NULL. */
MILLRACE_EXPORT millrace_code millrace_pipeline_neighbours(millrace_pipeline* pipeline, int* before,
                                                           int* after);

/* Whether a pipeline means something only for frames with luma and chroma: *needs is 1 if one of its filters
 * makes a plane of several planes, or works on chroma alone, else 0. */
MILLRACE_EXPORT millrace_code millrace_pipeline_needs_color(millrace_pipeline* pipeline, int* needs);

/* ---- Frames ---------------------------------------------------------------------------------------- */

/* How many chroma samples there are for the luma samples of a frame. */
typedef enum millrace_chroma {
  MILLRACE_GRAY = 0, /* one plane; the others have three */
  MILLRACE_420 = 1,
  MILLRACE_422 = 2,
  MILLRACE_444 = 3
} millrace_chroma;

/* Samples are integers from 0 to 2^bits - 1: uint8_t for 8 bits, uint16_t of the machine's byte order above.
 * 32 bits stand for floats, 0 for the least and 1 for the greatest sample: of gray frames, in runs that are
 * started in place. They are taken beyond 0 and 1 as well, and come out unclipped. What is infinite or not a
 * number is refused. Begin with MILLRACE_FORMAT(...). */
typedef struct millrace_format {
  size_t size;          /* sizeof(millrace_format), by which versions of it are told apart */
  int32_t width;        /* 1 to 32768, of luma */
  int32_t height;       /* 1 to 32768 */
  int32_t chroma;       /* millrace_chroma */
  int32_t bits;         /* 8 to 16, or 32 */
  int32_t rate[2];      /* frames a second, as a fraction */
  int32_t time_base[2]; /* seconds in a unit of millrace_frame.timestamp, as a fraction; 0/1: no timestamps */
} millrace_format;

#define MILLRACE_FORMAT(width, height, chroma, bits)                                                         \
  {sizeof(millrace_format), (width), (height), (chroma), (bits), {25, 1}, {0, 1}}

/* How many planes there are, and of plane `plane`, from 0, how many samples a row has and how many rows there
 * are. Chroma planes of odd frames are rounded up. Each of the three pointers may be NULL. */
MILLRACE_EXPORT millrace_code millrace_format_plane(const millrace_format* format, int plane, int* planes,
                                                    int* width, int* height);

/* The format that a pipeline makes of another; planes: as the option of the same name, NULL for "auto". A
 * second video is taken to have the same format as the first. */
MILLRACE_EXPORT millrace_code millrace_pipeline_format(millrace_pipeline* pipeline,
                                                       const millrace_format* input, const char* planes,
                                                       millrace_format* output);
/* The shape of the samples that it makes, width to height, of that of samples of the input; each 0/1 where it
 * is not known. "resize" keeps a picture as wide as it was shown, "transpose" swaps the two. */
MILLRACE_EXPORT millrace_code millrace_pipeline_aspect(millrace_pipeline* pipeline,
                                                       const millrace_format* input, const int32_t aspect[2],
                                                       int32_t made[2]);

/* INT64_MIN: none. */
#define MILLRACE_NO_TIMESTAMP INT64_MIN

/* Memory of the caller's. Begin with MILLRACE_FRAME. */
typedef struct millrace_frame {
  size_t size;     /* sizeof(millrace_frame) */
  void* planes[4]; /* the first sample of the first row of each plane that the format has */
  ptrdiff_t
      strides[4];    /* bytes from one row to the next; below 0 where the first row is the last in memory */
  int64_t timestamp; /* when it is shown, in units of the format's time base, or MILLRACE_NO_TIMESTAMP */
} millrace_frame;

#define MILLRACE_FRAME {sizeof(millrace_frame), {0, 0, 0, 0}, {0, 0, 0, 0}, MILLRACE_NO_TIMESTAMP}

/* ---- Runs ------------------------------------------------------------------------------------------ */

/* A run over one video: made, told its ends and its options, started; then fed and emptied where an end is
 * the caller's own; then over, for good. It works in threads of its own. Runs may be under way side by side:
 * they share the process's workers, which are never more than the process may use. */
typedef struct millrace_run millrace_run;

MILLRACE_EXPORT millrace_code millrace_run_create(millrace_pipeline* pipeline, millrace_run** run);
/* One that is under way is stopped first, and waited for. */
MILLRACE_EXPORT millrace_code millrace_run_free(millrace_run* run);

/* An option of `millrace run` by its long name, without the hyphens: ("threads", "2"), ("deadline", "16"),
 * ("at", "100:rotate.degrees=3"), which may be given again; flags take "true" or "false": ("force", "true")
 * replaces an output that exists. ("second", NAME) is the video that the pipeline calls so. Before the
 * start. */
MILLRACE_EXPORT millrace_code millrace_run_set(millrace_run* run, const char* name, const char* value);

/* One input and one output, before the start; without any output frames are processed and dropped.
 * name: as `millrace run` takes it, but for "-". Nothing is opened yet. */
MILLRACE_EXPORT millrace_code millrace_run_input(millrace_run* run, const char* name);
MILLRACE_EXPORT millrace_code millrace_run_input_frames(millrace_run* run, const millrace_format* format);
/* Frames that were made of those of another video, in the format of `origin`: with its colour tags, the shape
 * of its samples, and what else the video has beside its frames. A file that is written gets its sound,
 * subtitles, chapters and tags too, as one that is written by a run from file to file; the option no-audio
 * leaves the sound out. For that the other video is opened again. What is heard before the first frame or
 * behind the last one is left out if the video has frames there. */
typedef struct millrace_origin millrace_origin;
MILLRACE_EXPORT millrace_code millrace_run_input_frames_like(millrace_run* run,
                                                             const millrace_origin* origin);
MILLRACE_EXPORT millrace_code millrace_run_output(millrace_run* run, const char* name);
MILLRACE_EXPORT millrace_code millrace_run_output_frames(millrace_run* run);

/* What can be known to be wrong beforehand is refused here; what shows later, as a file that is not there, by
 * the calls below. */
MILLRACE_EXPORT millrace_code millrace_run_start(millrace_run* run);

/* Starts a run whose ends are both frames, in place of millrace_run_start: it has no thread, and each frame
 * is processed by the call that brings it. Then millrace_run_process, not push and pull; and
 * millrace_run_end. */
MILLRACE_EXPORT millrace_code millrace_run_start_in_place(millrace_run* run);
/* Processes one frame, from memory of the caller's to memory of the caller's. Both are read and written where
 * they are. Planes are copied only if a filter reads from elsewhere, as "rotate" does, if rows of 16-bit
 * samples do not begin at even addresses, or if the result lies where the frame does. One thread at a time.
 * After millrace_run_stop it returns soon, with MILLRACE_INTERRUPTED, however large the frame is. Pipelines
 * that read neighbouring frames, or a second video, are refused at the start. */
MILLRACE_EXPORT millrace_code millrace_run_process(millrace_run* run, const millrace_frame* from,
                                                   millrace_frame* to);

/* The format of the frames that come out; waits until the input has been opened. */
MILLRACE_EXPORT millrace_code millrace_run_output_format(millrace_run* run, millrace_format* format);

/* What the frames that come out have beside their samples, for millrace_run_input_frames_like of another run.
 * Waits as the one before. On an error *origin is NULL. May outlive the run. */
MILLRACE_EXPORT millrace_code millrace_run_origin(millrace_run* run, millrace_origin** origin);
MILLRACE_EXPORT millrace_code millrace_origin_free(millrace_origin* origin);

/* Gives the run its next frame, which is copied: the memory is the caller's again at once. One thread at a
 * time. milliseconds: how long to wait for room; below 0: as long as it takes. MILLRACE_AGAIN: there is none;
 * pull a frame. When the run has ended early, what it ended with; MILLRACE_END where that was no error. */
MILLRACE_EXPORT millrace_code millrace_run_push(millrace_run* run, const millrace_frame* frame,
                                                int milliseconds);
/* No more frames will come. */
MILLRACE_EXPORT millrace_code millrace_run_end(millrace_run* run);
/* Copies the next frame that is done to the memory that `frame` points to and sets its timestamp. One thread
 * at a time. Frames come in the order in which they went in, and one can be had for each that went in,
 * without pushing more, unless frames-in-flight says otherwise, or the pipeline reads frames ahead: then as
 * many fewer, until millrace_run_end. MILLRACE_END behind the last one; where the
 * run failed, behind the last that was done, what it failed with. */
MILLRACE_EXPORT millrace_code millrace_run_pull(millrace_run* run, millrace_frame* frame, int milliseconds);
/* The same without a copy: sets `frame` to the memory that the frame was made in. That is the caller's to
 * read and to write, the planes with as many bytes from row to row as `strides` says, until it is freed; what
 * is freed is used for frames to come, where the run still goes on, so hold few of them. May outlive the run.
 * On anything but MILLRACE_OK *memory is NULL. */
typedef struct millrace_frame_memory millrace_frame_memory;
MILLRACE_EXPORT millrace_code millrace_run_take(millrace_run* run, millrace_frame* frame,
                                                millrace_frame_memory** memory, int milliseconds);
MILLRACE_EXPORT millrace_code millrace_frame_memory_free(millrace_frame_memory* memory);
/* Whether the frame has data of its own beside its samples, as closed captions or a timecode: *has is 1, else
 * 0. */
MILLRACE_EXPORT millrace_code millrace_frame_memory_has_data(const millrace_frame_memory* memory, int* has);
/* The same as millrace_run_push, for a frame that was made of the one in `memory`, whose data of its own goes
 * with it. */
MILLRACE_EXPORT millrace_code millrace_run_push_made_of(millrace_run* run, const millrace_frame* frame,
                                                        const millrace_frame_memory* memory,
                                                        int milliseconds);

/* How many frames are done, and how many there will be, where that is known, else -1. */
MILLRACE_EXPORT millrace_code millrace_run_progress(millrace_run* run, int64_t* frames, int64_t* total);

/* Makes the run end soon. A file that it writes holds what was done until then. */
MILLRACE_EXPORT millrace_code millrace_run_stop(millrace_run* run);

/* Waits for the end and returns what the run came to. MILLRACE_USAGE where that would wait for ever: frames
 * are still to be pushed, or to be pulled; after a stop what nobody has pulled is dropped. */
MILLRACE_EXPORT millrace_code millrace_run_wait(millrace_run* run, int milliseconds);

/* After the end: what the run did, as `millrace run --json` has it, "decisions" among it; and what was tried
 * and why it was kept or not, for people. Until the run is freed. */
MILLRACE_EXPORT millrace_code millrace_run_report(millrace_run* run, const char** json);
MILLRACE_EXPORT millrace_code millrace_run_explanation(millrace_run* run, const char** text);

/* ---- Models ---------------------------------------------------------------------------------------- */

/* How fast a pipeline of stages will run, which is nothing of the pipelines above: items through serial and
 * parallel stages, whatever they do. What `millrace model` answers.
 *
 * question: JSON, {"pipeline": "load serial 0.5ms; work 4ms", "threads": [1, 2, 4], "cores", "strategies":
 * ["pools"], "tokens", "queue", "items", "seed", "sticky": false, "formulas": false}; all but the pipeline
 * may be missing. The members are options of `millrace model`. answer: as `millrace model --json` has it,
 * until the thread's next call of either function. */
MILLRACE_EXPORT millrace_code millrace_predict(const char* question, const char** answer);
/* The same of `millrace simulate`: {"pipeline", "machine", "cores", "strategy", "tokens", "queue", "items",
 * "seed", "sticky"}. Takes about 0.2 us for each item and stage. */
MILLRACE_EXPORT millrace_code millrace_simulate(const char* question, const char** answer);

#ifdef __cplusplus
}
#endif

#endif /* MILLRACE_H */
