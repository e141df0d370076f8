// Columns of floats, quantized to Q8_0, Q8_1 or Q8_K as llama.cpp does, bit by bit. Four columns are interleaved.
#pragma once
#include "half.h"

/** Relaxed SIMD multiplies bytes, 16 at a time; without it, values are extended to 16 bits first. */
#ifdef __wasm_relaxed_simd__
#define RELAXED true
/**
 * Sums of two products each. One operand must have 7 bits: processors differ in what they do with the eighth. The sums must fit
 * 16 bits, for the same reason.
 */
INLINE v128_t dot_bytes(v128_t values, v128_t weights) { return wasm_i16x8_relaxed_dot_i8x16_i7x16(values, weights); }
#else
#define RELAXED false
INLINE v128_t dot_bytes(v128_t values, v128_t weights) { return wasm_v128_and(values, weights); }
#endif

enum { F32 = 0, Q4_0 = 2, Q4_1 = 3, Q5_0 = 6, Q5_1 = 7, Q8_0 = 8, Q4_K = 12, Q5_K = 13, Q6_K = 14 };

INLINE bool is_k(int type) { return type >= Q4_K; }
/** Whether weights stay bytes: those with at most 6 bits. Columns are interleaved by fours then, else by pairs. */
INLINE bool in_bytes(int type) { return RELAXED && type != Q8_0; }
INLINE bool has_offset(int type) { return type == Q4_1 || type == Q5_1; }
INLINE size_t quants_in_block(int type) { return is_k(type) ? 256 : 32; }
/** Bytes of a block of a column: Q8_0, Q8_1 or Q8_K. */
INLINE size_t column_block(int type) { return is_k(type) ? 292 : has_offset(type) ? 36 : 34; }
INLINE size_t row_block(int type) {
  switch (type) {
    case Q8_0: return 34;
    case Q4_0: return 18;
    case Q4_1: return 20;
    case Q5_0: return 22;
    case Q5_1: return 24;
    case Q4_K: return 144;
    case Q5_K: return 176;
    default: return 210;
  }
}

/** Away from zero where it is a tie, as `roundf`: what is added is the float before 0.5. */
INLINE v128_t rounded(v128_t x) {
  const v128_t half = wasm_v128_or(wasm_v128_and(x, wasm_f32x4_const_splat(-0.0f)), wasm_f32x4_const_splat(0x1.fffffep-2f));
  return wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_add(x, half));
}

/** 32 floats as bytes, in two vectors. @returns the scale */
INLINE float quantize32(const float *x, v128_t bytes[2]) {
  v128_t v[8], most = wasm_f32x4_const_splat(0);
  for (int i = 0; i < 8; i++) {
    v[i] = wasm_v128_load(x + 4 * i);
    most = wasm_f32x4_pmax(most, wasm_f32x4_abs(v[i]));
  }
  most = wasm_f32x4_pmax(most, wasm_i32x4_shuffle(most, most, 2, 3, 0, 1));
  most = wasm_f32x4_pmax(most, wasm_i32x4_shuffle(most, most, 1, 0, 3, 2));
  const float scale = wasm_f32x4_extract_lane(most, 0) / 127.0f;
  const v128_t inverse = wasm_f32x4_splat(scale != 0 ? 1.0f / scale : 0.0f);
  for (int i = 0; i < 2; i++) {
    v128_t w[4];
    for (int j = 0; j < 4; j++) w[j] = rounded(wasm_f32x4_mul(v[4 * i + j], inverse));
    bytes[i] = wasm_i8x16_narrow_i16x8(wasm_i16x8_narrow_i32x4(w[0], w[1]), wasm_i16x8_narrow_i32x4(w[2], w[3]));
  }
  return scale;
}

INLINE uint16_t scaled_sum(const v128_t bytes[2], float scale) {
  v128_t sum = wasm_i16x8_add(wasm_i16x8_extadd_pairwise_i8x16(bytes[0]), wasm_i16x8_extadd_pairwise_i8x16(bytes[1]));
  sum = wasm_i32x4_extadd_pairwise_i16x8(sum);
  const int all = wasm_i32x4_extract_lane(sum, 0) + wasm_i32x4_extract_lane(sum, 1) + wasm_i32x4_extract_lane(sum, 2) +
                  wasm_i32x4_extract_lane(sum, 3);
  return half_of((float)all * scale);
}

/** Pairs of 4 columns' bytes, interleaved: 64 bytes of 16 of each. */
INLINE void interleave(uint8_t *to, v128_t a, v128_t b, v128_t c, v128_t d) {
  const v128_t ab0 = wasm_i16x8_shuffle(a, b, 0, 8, 1, 9, 2, 10, 3, 11), ab1 = wasm_i16x8_shuffle(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  const v128_t cd0 = wasm_i16x8_shuffle(c, d, 0, 8, 1, 9, 2, 10, 3, 11), cd1 = wasm_i16x8_shuffle(c, d, 4, 12, 5, 13, 6, 14, 7, 15);
  wasm_v128_store(to, wasm_i32x4_shuffle(ab0, cd0, 0, 4, 1, 5));
  wasm_v128_store(to + 16, wasm_i32x4_shuffle(ab0, cd0, 2, 6, 3, 7));
  wasm_v128_store(to + 32, wasm_i32x4_shuffle(ab1, cd1, 0, 4, 1, 5));
  wasm_v128_store(to + 48, wasm_i32x4_shuffle(ab1, cd1, 2, 6, 3, 7));
}

/** Fours of 4 columns' bytes, interleaved: 64 bytes of 16 of each. */
INLINE void interleave_fours(uint8_t *to, v128_t a, v128_t b, v128_t c, v128_t d) {
  const v128_t ab0 = wasm_i32x4_shuffle(a, b, 0, 4, 1, 5), ab1 = wasm_i32x4_shuffle(a, b, 2, 6, 3, 7);
  const v128_t cd0 = wasm_i32x4_shuffle(c, d, 0, 4, 1, 5), cd1 = wasm_i32x4_shuffle(c, d, 2, 6, 3, 7);
  wasm_v128_store(to, wasm_i64x2_shuffle(ab0, cd0, 0, 2));
  wasm_v128_store(to + 16, wasm_i64x2_shuffle(ab0, cd0, 1, 3));
  wasm_v128_store(to + 32, wasm_i64x2_shuffle(ab1, cd1, 0, 2));
  wasm_v128_store(to + 48, wasm_i64x2_shuffle(ab1, cd1, 1, 3));
}

/** One block of 4 columns: 4 scales, (4 scaled sums,) 32 x 4 values. */
INLINE void quantize_group32(const uint8_t *x, size_t stride, uint8_t *to, bool offset, bool fours) {
  v128_t bytes[4][2];
  for (int c = 0; c < 4; c++) {
    const float scale = quantize32((const float *)(x + c * stride), bytes[c]);
    ((uint16_t *)to)[c] = half_of(scale);
    if (offset) ((uint16_t *)to)[4 + c] = scaled_sum(bytes[c], scale);
  }
  to += offset ? 16 : 8;
  for (int i = 0; i < 2; i++) {
    if (fours) interleave_fours(to + 64 * i, bytes[0][i], bytes[1][i], bytes[2][i], bytes[3][i]);
    else interleave(to + 64 * i, bytes[0][i], bytes[1][i], bytes[2][i], bytes[3][i]);
  }
}

INLINE void quantize_single32(const uint8_t *x, uint8_t *to, bool offset) {
  v128_t bytes[2];
  const float scale = quantize32((const float *)x, bytes);
  ((uint16_t *)to)[0] = half_of(scale);
  if (offset) ((uint16_t *)to)[1] = scaled_sum(bytes, scale);
  to += offset ? 4 : 2;
  wasm_v128_store(to, bytes[0]);
  wasm_v128_store(to + 16, bytes[1]);
}

/** A block of 256 of 4 columns: 4 scales, 256 x 4 values, 8 x 4 pairs of sums. */
static void quantize_group256(const uint8_t *x, size_t stride, uint8_t *to) {
  uint8_t plain[4][292] __attribute__((aligned(16)));
  for (int c = 0; c < 4; c++) {
    quantize_row_q8_K((const float *)(x + c * stride), plain[c], 256);
    *(uint32_t *)(to + 4 * c) = *(uint32_t *)plain[c];
  }
  for (int i = 0; i < 16; i++) {
    const int at = 4 + 16 * i;
    const v128_t a = wasm_v128_load(plain[0] + at), b = wasm_v128_load(plain[1] + at);
    const v128_t c = wasm_v128_load(plain[2] + at), d = wasm_v128_load(plain[3] + at);
    if (RELAXED) interleave_fours(to + 16 + 64 * i, a, b, c, d);
    else interleave(to + 16 + 64 * i, a, b, c, d);
  }
  for (int i = 0; i < 8; i++)
    for (int c = 0; c < 4; c++) *(uint32_t *)(to + 1040 + 16 * i + 4 * c) = *(uint32_t *)(plain[c] + 260 + 4 * i);
}

static void quantize(int type, const tensor *src, uint8_t *to, int64_t first, int64_t end) {
  const int64_t columns = src->ne[1], whole = columns & ~3;
  const size_t quants = quants_in_block(type), bytes = column_block(type), stride = src->nb[1];
  const size_t size = src->ne[0] / quants * bytes;
  for (int64_t c = 0; c < columns; c += c < whole ? 4 : 1)
    for (int64_t b = first; b < end; b++) {
      const uint8_t *x = src->data + c * stride + b * quants * 4;
      uint8_t *at = to + c * size + b * bytes * (c < whole ? 4 : 1);
      if (is_k(type)) {
        if (c < whole) quantize_group256(x, stride, at);
        else quantize_row_q8_K((const float *)x, at, 256);
      } else if (c < whole) {
        if (has_offset(type)) quantize_group32(x, stride, at, true, RELAXED);
        else if (in_bytes(type)) quantize_group32(x, stride, at, false, true);
        else quantize_group32(x, stride, at, false, false);
      } else quantize_single32(x, at, has_offset(type));
    }
}
