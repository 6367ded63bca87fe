/* edges PIPELINE WIDTH HEIGHT: applies a pipeline to 8-bit gray frames from standard input and writes them to
 * standard output. */
#include <millrace.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const char* what) {
  fprintf(stderr, "edges: %s: %s\n", what, millrace_error());
  return 1;
}

int main(int count, char** words) {
  if (count != 4) return fputs("usage: edges PIPELINE WIDTH HEIGHT\n", stderr), 2;
  const millrace_format format = MILLRACE_FORMAT(atoi(words[2]), atoi(words[3]), MILLRACE_GRAY, 8);
  millrace_pipeline* pipeline;
  millrace_run* run;
  millrace_format made = format;
  if (millrace_pipeline_create(words[1], &pipeline) != MILLRACE_OK) return fail("the pipeline");
  if (millrace_run_create(pipeline, &run) != MILLRACE_OK ||
      millrace_run_input_frames(run, &format) != MILLRACE_OK ||
      millrace_run_output_frames(run) != MILLRACE_OK || millrace_run_start(run) != MILLRACE_OK ||
      millrace_run_output_format(run, &made) != MILLRACE_OK)
    return fail("the run");

  const size_t in_bytes = (size_t)format.width * (size_t)format.height;
  const size_t out_bytes = (size_t)made.width * (size_t)made.height;
  millrace_frame in = MILLRACE_FRAME, out = MILLRACE_FRAME;
  in.planes[0] = malloc(in_bytes);
  in.strides[0] = format.width;
  out.planes[0] = malloc(out_bytes);
  out.strides[0] = made.width;
  if (in.planes[0] == NULL || out.planes[0] == NULL) return fputs("edges: out of memory\n", stderr), 1;

  while (fread(in.planes[0], 1, in_bytes, stdin) == in_bytes) {
    if (millrace_run_push(run, &in, -1) != MILLRACE_OK || millrace_run_pull(run, &out, -1) != MILLRACE_OK)
      return fail("a frame");
    fwrite(out.planes[0], 1, out_bytes, stdout);
  }
  if (millrace_run_end(run) != MILLRACE_OK || millrace_run_wait(run, -1) != MILLRACE_OK)
    return fail("the end");

  const char* why;
  if (millrace_run_explanation(run, &why) == MILLRACE_OK) fputs(why, stderr);
  millrace_run_free(run);
  millrace_pipeline_free(pipeline);
  free(in.planes[0]);
  free(out.planes[0]);
  return 0;
}
