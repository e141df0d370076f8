// The exponential function of four floats, as the C library's `expf` computes it, bit by bit: in doubles, from 32 powers of 2
// and a polynomial of degree 3. The constants are those of musl 1.2 (src/math/exp2f_data.c).
#pragma once
#include "ggml.h"

/** Bits of 2 to the power of i / 32, less i << 47: an integer added to the exponent's bits brings them back. */
typedef struct {
  uint64_t bits[32];
} powers;

/** Writes the table by instructions: an object with data cannot be linked. */
ALONE void write_powers(powers *to) {
  static const uint64_t bits[32] = {
      0x3ff0000000000000, 0x3fefd9b0d3158574, 0x3fefb5586cf9890f, 0x3fef9301d0125b51, 0x3fef72b83c7d517b, 0x3fef54873168b9aa,
      0x3fef387a6e756238, 0x3fef1e9df51fdee1, 0x3fef06fe0a31b715, 0x3feef1a7373aa9cb, 0x3feedea64c123422, 0x3feece086061892d,
      0x3feebfdad5362a27, 0x3feeb42b569d4f82, 0x3feeab07dd485429, 0x3feea47eb03a5585, 0x3feea09e667f3bcd, 0x3fee9f75e8ec5f74,
      0x3feea11473eb0187, 0x3feea589994cce13, 0x3feeace5422aa0db, 0x3feeb737b0cdc5e5, 0x3feec49182a3f090, 0x3feed503b23e255d,
      0x3feee89f995ad3ad, 0x3feeff76f2fb5e47, 0x3fef199bdd85529c, 0x3fef3720dcef9069, 0x3fef5818dcfba487, 0x3fef7c97337b9b5f,
      0x3fefa4afa2a490da, 0x3fefd0765b6e4540};
#pragma clang loop unroll(full)
  for (int i = 0; i < 32; i++) to->bits[i] = bits[i];
}

/** Exponentials of two doubles, as floats in the low lanes. */
INLINE v128_t exponential2(const powers *table, v128_t x) {
  const v128_t z = wasm_f64x2_mul(x, wasm_f64x2_const_splat(0x1.71547652b82fep+5));
  const v128_t shifted = wasm_f64x2_add(z, wasm_f64x2_const_splat(0x1.8p+52));
  const v128_t r = wasm_f64x2_sub(z, wasm_f64x2_sub(shifted, wasm_f64x2_const_splat(0x1.8p+52)));
  v128_t power = wasm_v128_load64_zero(table->bits + (wasm_i64x2_extract_lane(shifted, 0) & 31));
  power = wasm_v128_load64_lane(table->bits + (wasm_i64x2_extract_lane(shifted, 1) & 31), power, 1);
  power = wasm_i64x2_add(power, wasm_i64x2_shl(shifted, 47));
  const v128_t high = wasm_f64x2_add(wasm_f64x2_mul(r, wasm_f64x2_const_splat(0x1.c6af84b912394p-20)), wasm_f64x2_const_splat(0x1.ebfce50fac4f3p-13));
  const v128_t low = wasm_f64x2_add(wasm_f64x2_mul(r, wasm_f64x2_const_splat(0x1.62e42ff0c52d6p-6)), wasm_f64x2_const_splat(1));
  const v128_t sum = wasm_f64x2_add(wasm_f64x2_mul(high, wasm_f64x2_mul(r, r)), low);
  return wasm_f32x4_demote_f64x2_zero(wasm_f64x2_mul(sum, power));
}

/** Exponentials of four floats of at most 88. */
INLINE v128_t exponential4(const powers *table, v128_t x) {
  const v128_t low = exponential2(table, wasm_f64x2_promote_low_f32x4(x));
  const v128_t high = exponential2(table, wasm_f64x2_promote_low_f32x4(wasm_i64x2_shuffle(x, x, 1, 1)));
  return wasm_v128_andnot(wasm_i64x2_shuffle(low, high, 0, 2), wasm_f32x4_lt(x, wasm_f32x4_const_splat(-0x1.9fe368p6f)));
}
