// Computing a graph. llama.cpp's function for it has the code of all operations, 295 KB: a browser's optimizing compiler takes seconds
// and 90 MB for it, beside the first prompt. The linker adds a copy with the common operations, a tenth of the code.
#pragma once
#include "ggml.h"

typedef struct {
  int32_t size, count, leafs;
  tensor **nodes;
} graph;
/** Of a thread's state: its thread pool. Of that: the graph. */
#if __SIZEOF_POINTER__ == 8
#define THREAD_POOL 528
#define GRAPH 88
#else
#define THREAD_POOL 524
#define GRAPH 72
#endif

/** COMMON in src/node/engine-files/linker/llama-abi.ts, and 0, which computes nothing: a bit for each of the first 64, and of the others. */
#define OF(operation) (1ull << (operation & 63))
#define COMMON (OF(0) | OF(2) | OF(7) | OF(25) | OF(29) | OF(32) | OF(34) | OF(35) | OF(36) | OF(37) | OF(38) | OF(39) | OF(40) | OF(42) | OF(46) | OF(48))
#define OTHER_COMMON (OF(74) | OF(101))
INLINE bool is_common(int operation) { return (operation < 64 ? COMMON : OTHER_COMMON) >> (operation & 63) & 1; }

IMPORT(original_compute_graph) void original_compute_graph(const uint8_t *);
IMPORT(common_compute_graph) void common_compute_graph(const uint8_t *);

EXPORT(compute_graph) void compute_graph(const uint8_t *thread) {
  const graph *g = *(const graph *const *)(*(const uint8_t *const *)(thread + THREAD_POOL) + GRAPH);
  for (int i = 0; i < g->count; i++)
    if (!is_common(g->nodes[i]->op)) {
      original_compute_graph(thread);
      return;
    }
  common_compute_graph(thread);
}
