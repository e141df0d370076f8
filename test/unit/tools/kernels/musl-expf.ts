const STEPS = 32;
const INVERSE_LN2 = 0x1_71547652b82fe / 2 ** 52;
const SHIFT = 1.5 * 2 ** 52;
/** Coefficients of 2^(r / 32), from the cube's down to 1. */
const POLYNOMIAL = [
  0x1_c6af84b912394 / 2 ** 57,
  0x1_ebfce50fac4f3 / 2 ** 55,
  0x1_62e42ff0c52d6 / 2 ** 53,
].map((c, i) => c / STEPS ** (3 - i));
/** Bound below which a float is 0. */
const LOWEST = -0x1_9fe368 / 2 ** 18;

/**
 * `expf` of musl 1.2 (src/math/expf.c) for numbers of at most 88, in the same order of operations.
 * https://git.musl-libc.org/cgit/musl/tree/src/math/expf.c
 */
export function expf(x: number): number {
  if (x < LOWEST) return 0;
  const z = INVERSE_LN2 * STEPS * x;
  const whole = z + SHIFT - SHIFT;
  const r = z - whole;
  const step = ((whole % STEPS) + STEPS) % STEPS;
  const power = 2 ** (step / STEPS) * 2 ** ((whole - step) / STEPS);
  const [cube = 0, square = 0, linear = 0] = POLYNOMIAL;
  return Math.fround(((cube * r + square) * (r * r) + (linear * r + 1)) * power);
}
