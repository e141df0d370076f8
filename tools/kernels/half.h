// Half floats.
#pragma once
#include "ggml.h"

/**
 * Four halves in the high 16 bits of lanes (the others are ignored), as floats: exact, but for infinities and NaN.
 * @param branches faster, but where constants are kept in registers
 */
INLINE v128_t upper(bool branches, v128_t words) {
  const v128_t half = wasm_v128_and(wasm_i32x4_shr(words, 3), wasm_i32x4_const_splat((int)0x8fffe000));
  const v128_t usual = wasm_i32x4_add(half, wasm_i32x4_const_splat(112 << 23));
  // Those below 2^-14 have no leading one. Floats that small, which are slow, do not occur.
  const v128_t is_tiny = wasm_i32x4_eq(wasm_v128_and(half, wasm_i32x4_const_splat(31 << 23)), wasm_i32x4_const_splat(0));
  if (branches && !wasm_v128_any_true(is_tiny)) return usual;
  const v128_t sign = wasm_v128_and(half, wasm_i32x4_const_splat((int)0x80000000));
  const v128_t one = wasm_v128_or(sign, wasm_i32x4_const_splat(113 << 23));
  const v128_t tiny = wasm_f32x4_sub(wasm_v128_or(wasm_i32x4_add(half, wasm_i32x4_const_splat(113 << 23)), sign), one);
  return wasm_v128_bitselect(wasm_v128_or(tiny, sign), usual, is_tiny);
}
/** Those in the low 16 bits. */
INLINE v128_t floats_of(bool branches, v128_t halves) { return upper(branches, wasm_i32x4_shl(halves, 16)); }
INLINE float float_of(const uint8_t *half) {
  return wasm_f32x4_extract_lane(floats_of(true, wasm_i32x4_splat(*(const uint16_t *)half)), 0);
}
INLINE v128_t four_halves(bool branches, const uint8_t *a, size_t stride) {
  v128_t all = wasm_v128_load16_lane(a, wasm_i32x4_const_splat(0), 0);
  all = wasm_v128_load16_lane(a + stride, all, 2);
  all = wasm_v128_load16_lane(a + 2 * stride, all, 4);
  all = wasm_v128_load16_lane(a + 3 * stride, all, 6);
  return floats_of(branches, all);
}
/** Of four rows, what their blocks begin with: two halves each. */
INLINE v128_t four_words(const uint8_t *a, size_t stride) {
  v128_t all = wasm_v128_load32_lane(a, wasm_i32x4_const_splat(0), 0);
  all = wasm_v128_load32_lane(a + stride, all, 1);
  all = wasm_v128_load32_lane(a + 2 * stride, all, 2);
  return wasm_v128_load32_lane(a + 3 * stride, all, 3);
}
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
