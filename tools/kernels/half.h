// Half floats.
#pragma once
#include "ggml.h"

/** Four halves in the low 16 bits of lanes (the others are ignored), as floats: exact, but for infinities and NaN. */
INLINE v128_t floats_of(v128_t halves) {
  const v128_t sign = wasm_i32x4_shl(wasm_v128_and(halves, wasm_i32x4_const_splat(0x8000)), 16);
  const v128_t magnitude = wasm_i32x4_shl(wasm_v128_and(halves, wasm_i32x4_const_splat(0x7fff)), 13);
  const v128_t usual = wasm_i32x4_add(magnitude, wasm_i32x4_const_splat(112 << 23));
  // Those below 2^-14 have no leading one. Floats that small, which are slow, do not occur.
  const v128_t tiny = wasm_f32x4_sub(wasm_i32x4_add(usual, wasm_i32x4_const_splat(1 << 23)), wasm_f32x4_const_splat(0x1p-14f));
  return wasm_v128_or(wasm_v128_bitselect(tiny, usual, wasm_u32x4_lt(magnitude, wasm_i32x4_const_splat(1 << 23))), sign);
}
INLINE float float_of(const uint8_t *half) {
  return wasm_f32x4_extract_lane(floats_of(wasm_i32x4_splat(*(const uint16_t *)half)), 0);
}
INLINE v128_t four_halves(const uint8_t *a, size_t stride) {
  v128_t all = wasm_v128_load16_lane(a, wasm_i32x4_const_splat(0), 0);
  all = wasm_v128_load16_lane(a + stride, all, 2);
  all = wasm_v128_load16_lane(a + 2 * stride, all, 4);
  all = wasm_v128_load16_lane(a + 3 * stride, all, 6);
  return floats_of(all);
}
/** Of four rows, what their blocks begin with: two halves each. */
INLINE v128_t four_words(const uint8_t *a, size_t stride) {
  v128_t all = wasm_v128_load32_lane(a, wasm_i32x4_const_splat(0), 0);
  all = wasm_v128_load32_lane(a + stride, all, 1);
  all = wasm_v128_load32_lane(a + 2 * stride, all, 2);
  return wasm_v128_load32_lane(a + 3 * stride, all, 3);
}
INLINE v128_t upper(v128_t words) { return floats_of(wasm_u32x4_shr(words, 16)); }
/** Rounded to even, as ggml does. For finite numbers that a half can hold. */
INLINE uint16_t half_of(float number) {
  union { float f; uint32_t u; } all = {number}, small;
  const uint32_t sign = all.u & 0x80000000u;
  all.u ^= sign;
  if (all.u < 113u << 23) {
    small.f = all.f + 0.5f;
    return (uint16_t)((small.u - 0x3f000000u) | sign >> 16);
  }
  return (uint16_t)((all.u + 0xc8000fffu + (all.u >> 13 & 1)) >> 13 | sign >> 16);
}
