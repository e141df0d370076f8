// For shadow.mjs: each product is computed by the kernels and by the function that they replace, and the largest difference logged.
#define mul_mat kernel_mul_mat
#include "attention.h"
#include "product.h"
#include "server.h"
#undef mul_mat

IMPORT(emscripten_builtin_malloc) void *emscripten_builtin_malloc(size_t);
IMPORT(emscripten_builtin_free) void emscripten_builtin_free(void *);
/** Arguments lie in memory, as Emscripten passes those of C's variadic functions. */
IMPORT(ggml_log_internal) void ggml_log_internal(int32_t level, const char *format, const void *arguments);
#define WARN 3

INLINE float magnitude(float x) { return x < 0 ? -x : x; }

/** One thread alone may run it. What the original computed is passed on. */
__attribute__((used, visibility("default"))) void mul_mat(const params *p, tensor *dst) {
  const int type = dst->src[0]->type;
  if (p->nth != 1 || !is_known(type)) {
    original_mul_mat(p, dst);
    return;
  }
  const size_t count = (size_t)(dst->ne[0] * dst->ne[1] * dst->ne[2] * dst->ne[3]);
  float *const ours = emscripten_builtin_malloc(count * sizeof(float));
  const float *const theirs = (const float *)dst->data;
  kernel_mul_mat(p, dst);
  for (size_t i = 0; i < count; i++) ours[i] = theirs[i];
  original_mul_mat(p, dst);
  float difference = 0, largest = 0;
  for (size_t i = 0; i < count; i++) {
    const float d = magnitude(ours[i] - theirs[i]);
    if (!(d <= difference)) difference = d;
    if (magnitude(theirs[i]) > largest) largest = magnitude(theirs[i]);
  }
  emscripten_builtin_free(ours);
  const struct {
    int32_t type, columns;
    double difference, largest;
  } arguments = {type, (int32_t)dst->ne[1], difference, largest};
  // Written letter by letter: an object with data cannot be linked.
  volatile char format[24];
  int at = 0;
#define LETTER(c) format[at++] = c;
  LETTER('s') LETTER('h') LETTER('a') LETTER('d') LETTER('o') LETTER('w') LETTER(' ') LETTER('%') LETTER('d') LETTER(' ') LETTER('%')
  LETTER('d') LETTER(' ') LETTER('%') LETTER('g') LETTER(' ') LETTER('%') LETTER('g') LETTER('\n') LETTER(0)
  ggml_log_internal(WARN, (const char *)format, &arguments);
}
