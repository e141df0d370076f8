// Half floats.
#pragma once
#include "ggml.h"

/** A zero that Clang does not know. A browser's compiler does not know it once it comes from memory. */
INLINE v128_t hidden_zero(void) {
  v128_t zero = wasm_i32x4_const_splat(0);
  asm("" : "+r"(zero));
  return zero;
}
/**
 * A constant for a loop. A browser's compiler that knows the value makes it again at each use, by three instructions.
 * @param zero whose value no compiler knows
 */
INLINE v128_t kept(v128_t zero, int word) { return wasm_v128_xor(zero, wasm_i32x4_splat(word)); }

/** Constants to read halves with. */
typedef struct {
  v128_t bits, bias, factor, sign, least;
} half_reader;
INLINE half_reader half_reader_of(v128_t zero) {
  return (half_reader){kept(zero, (int)0x8fffe000), kept(zero, 112 << 23), kept(zero, 239 << 23), kept(zero, (int)0x80000000), kept(zero, 113 << 23)};
}
/**
 * Halves in the high 16 bits of lanes (the others are ignored), as floats: exact, but for infinities and NaN.
 * @param often whether some may be below 2^-14: to multiply floats that small is exact, but slow on some processors
 */
INLINE v128_t high_floats(const half_reader *h, bool often, v128_t halves) {
  const v128_t half = wasm_v128_and(wasm_i32x4_shr(halves, 3), h->bits);
  if (!often) return wasm_f32x4_mul(half, h->factor);
  // Those have no leading one: twice as much less 2^-14, which is more for all others.
  const v128_t usual = wasm_i32x4_add(wasm_v128_andnot(half, h->sign), h->bias);
  const v128_t tiny = wasm_f32x4_sub(wasm_f32x4_add(usual, usual), h->least);
  return wasm_v128_or(wasm_f32x4_pmin(tiny, usual), wasm_v128_and(half, h->sign));
}
INLINE v128_t low_floats(const half_reader *h, bool often, v128_t halves) { return high_floats(h, often, wasm_i32x4_shl(halves, 16)); }
INLINE float float_of(const uint8_t *half) {
  const half_reader h = half_reader_of(wasm_i32x4_const_splat(0));
  return wasm_f32x4_extract_lane(low_floats(&h, true, wasm_i32x4_splat(*(const uint16_t *)half)), 0);
}
INLINE v128_t four_halves(const uint8_t *a, size_t stride) {
  v128_t all = wasm_v128_load16_lane(a, wasm_i32x4_const_splat(0), 0);
  all = wasm_v128_load16_lane(a + stride, all, 2);
  all = wasm_v128_load16_lane(a + 2 * stride, all, 4);
  return wasm_v128_load16_lane(a + 3 * stride, all, 6);
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
