// Attention over keys and values in Q8_0. `flash` takes the place of ggml_compute_forward_flash_attn_ext_f16_one_chunk.
// Queries that share keys and values (tokens, and heads in groups) go together, up to 16. Each query's sums are made in the
// original's order: bit by bit the same.
#pragma once
#include "single.h"
#include "tile.h"

enum { F16 = 1 };
#define KEYS 32
#define QUERIES (4 * GROUPS)
#define WIDEST 256

INLINE void add_values(float *sum, size_t width, const float *values, const float *weights, int first, int end) {
  for (size_t d = 0; d < width; d += 16) {
    v128_t a = wasm_v128_load(sum + d), b = wasm_v128_load(sum + d + 4), c = wasm_v128_load(sum + d + 8), e = wasm_v128_load(sum + d + 12);
    for (int i = first; i < end; i++) {
      const float *at = values + i * width + d;
      const v128_t w = wasm_v128_load32_splat(weights + i);
      a = wasm_f32x4_add(a, wasm_f32x4_mul(wasm_v128_load(at), w));
      b = wasm_f32x4_add(b, wasm_f32x4_mul(wasm_v128_load(at + 4), w));
      c = wasm_f32x4_add(c, wasm_f32x4_mul(wasm_v128_load(at + 8), w));
      e = wasm_f32x4_add(e, wasm_f32x4_mul(wasm_v128_load(at + 12), w));
    }
    wasm_v128_store(sum + d, a);
    wasm_v128_store(sum + d + 4, b);
    wasm_v128_store(sum + d + 8, c);
    wasm_v128_store(sum + d + 12, e);
  }
}
INLINE void multiply(float *x, size_t width, float factor) {
  for (size_t d = 0; d < width; d += 4) wasm_v128_store(x + d, wasm_f32x4_mul(wasm_v128_load(x + d), wasm_f32x4_splat(factor)));
}
INLINE void values_of(const uint8_t *row, size_t blocks, float *to) {
  for (size_t b = 0; b < blocks; b++, row += 34, to += 32) {
    const v128_t scale = wasm_f32x4_splat(float_of(row));
    for (int i = 0; i < 4; i++) {
      const v128_t x = wasm_i16x8_load8x8(row + 2 + 8 * i);
      wasm_v128_store(to + 8 * i, wasm_f32x4_mul(wasm_f32x4_convert_i32x4(wasm_i32x4_extend_low_i16x8(x)), scale));
      wasm_v128_store(to + 8 * i + 4, wasm_f32x4_mul(wasm_f32x4_convert_i32x4(wasm_i32x4_extend_high_i16x8(x)), scale));
    }
  }
}
#define HIDDEN 0xfc00
INLINE bool all_hidden(const uint16_t *const *masks, int count, int64_t first, int n) {
  for (int c = 0; c < count; c++)
    for (int i = 0; i < n; i += 4)
      if (*(const uint64_t *)(masks[c] + first + i) != 0xfc00fc00fc00fc00ull) return false;
  return true;
}

EXPORT(flash) void flash(const params *p, tensor *dst, int32_t ir0, int32_t ir1, int64_t ic_start,
                                                 int64_t ic_end, float *partials, int64_t partial_stride) {
  const tensor *q = dst->src[0], *k = dst->src[1], *v = dst->src[2], *mask = dst->src[3];
  const size_t width = q->ne[0], value_width = v->ne[0];
  const float scale = ((const float *)dst->op_params)[0];
  if (k->type != Q8_0 || v->type != Q8_0 || q->type != F32 || partials || dst->src[4] || dst->op_params[1] || dst->op_params[2] ||
      width > WIDEST || value_width > WIDEST || width % 32 || value_width % 32 || k->nb[0] != 34 || v->nb[0] != 34 ||
      (mask && mask->type != F16) || (ic_end - ic_start) % 4 || k->ne[2] != v->ne[2] || k->ne[3] != v->ne[3]) {
    original_flash(p, dst, ir0, ir1, ic_start, ic_end, partials, partial_stride);
    return;
  }
  const int64_t tokens = q->ne[1], heads = q->ne[2], shared = heads / k->ne[2], repeated = q->ne[3] / k->ne[3];
  const size_t blocks = width / 32;
  float query[4 * WIDEST] __attribute__((aligned(16)));
  uint8_t columns[QUERIES * WIDEST / 32 * 34] __attribute__((aligned(16)));
  float scores[QUERIES * KEYS] __attribute__((aligned(16))), values[KEYS * WIDEST] __attribute__((aligned(16)));
  float sums[QUERIES * WIDEST] __attribute__((aligned(16)));
  float scales[WIDEST / 32 * SCALES] __attribute__((aligned(16)));
  const uint16_t *masks[QUERIES];
  float most[QUERIES], total[QUERIES];
  uint8_t *to[QUERIES];
  for (int64_t ir = ir0; ir < ir1;) {
    const int64_t i3 = ir / (heads * tokens), head = (ir - i3 * heads * tokens) / tokens, pair = head / shared;
    int64_t end = i3 * heads * tokens + (pair + 1) * shared * tokens;
    if (end > ir1) end = ir1;
    const int count = end - ir < QUERIES ? (int)(end - ir) : QUERIES, groups = (count + 3) / 4;
    for (int c = 0; c < groups * 4; c++) {
      const int64_t row = ir + (c < count ? c : count - 1) - i3 * heads * tokens, h = row / tokens, t = row % tokens;
      const uint8_t *from = q->data + t * q->nb[1] + h * q->nb[2] + i3 * q->nb[3];
      if (count == 1) {
        if (c == 0)
          for (size_t b = 0; b < blocks; b++) quantize_single32(from + 128 * b, columns + 34 * b, false);
      } else {
        for (size_t d = 0; d < width; d += 4) wasm_v128_store(query + (c & 3) * width + d, wasm_v128_load(from + 4 * d));
        if ((c & 3) == 3)
          for (size_t b = 0; b < blocks; b++)
            quantize_group32((const uint8_t *)query + 128 * b, 4 * width, columns + (c / 4 * blocks + b) * 136, false, false);
      }
      if (c >= count) continue;
      if (mask)
        masks[c] = (const uint16_t *)(mask->data + t * mask->nb[1] + h % mask->ne[2] * mask->nb[2] + i3 % mask->ne[3] * mask->nb[3]);
      to[c] = dst->data + (i3 * dst->ne[2] * dst->ne[1] + h + t * dst->ne[1]) * dst->nb[1];
      most[c] = -__builtin_inff();
      total[c] = 0;
      for (size_t d = 0; d < value_width; d += 4) wasm_v128_store(sums + c * value_width + d, wasm_f32x4_const_splat(0));
    }
    if (count > 1) scales_of(Q8_0, blocks, columns, groups, scales, scales);
    const uint8_t *keys = k->data + pair * k->nb[2] + i3 / repeated * k->nb[3];
    const uint8_t *value_rows = v->data + pair * v->nb[2] + i3 / repeated * v->nb[3];
    for (int64_t ic = ic_start; ic < ic_end; ic += KEYS) {
      const int n = ic_end - ic < KEYS ? (int)(ic_end - ic) : KEYS;
      if (mask && all_hidden(masks, count, ic, n)) continue;
      for (int i = 0; i < n; i += 4) {
        const uint8_t *key = keys + (ic + i) * k->nb[1];
        if (count == 1) single_Q8_0(blocks, key, k->nb[1], columns, 0, scores + i);
        else tile(Q8_0, blocks, key, k->nb[1], columns, groups, scales, scales, scores + i, KEYS * 4);
      }
      for (int i = 0; i < n; i++) values_of(value_rows + (ic + i) * v->nb[1], value_width / 32, values + i * value_width);
      for (int c = 0; c < count; c++) {
        float *const score = scores + c * KEYS, *const sum = sums + c * value_width;
        float m = most[c], s = total[c];
        int first = 0;
        for (int i = 0; i < n; i++) {
          const uint16_t hidden = mask ? masks[c][ic + i] : 0;
          if (hidden == HIDDEN) {
            score[i] = 0;
            continue;
          }
          float x = score[i] * scale;
          if (hidden) x += float_of((const uint8_t *)(masks[c] + ic + i));
          if (x > m) {
            if (first < i) add_values(sum, value_width, values, score, first, i);
            const float factor = expf(m - x);
            multiply(sum, value_width, factor);
            s = s * factor + 1;
            m = x;
            score[i] = 1;
            first = i;
          } else {
            score[i] = expf(x - m);
            s = s + score[i];
          }
        }
        add_values(sum, value_width, values, score, first, n);
        most[c] = m;
        total[c] = s;
      }
    }
    for (int c = 0; c < count; c++) {
      float *const sum = sums + c * value_width;
      multiply(sum, value_width, total[c] == 0 ? 0 : 1 / total[c]);
      for (size_t d = 0; d < value_width; d += 4) wasm_v128_store(to[c] + 4 * d, wasm_v128_load(sum + d));
    }
    ir += count;
  }
}
