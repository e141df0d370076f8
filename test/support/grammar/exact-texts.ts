import type { Random } from '../../chaos/random.ts';

const digits = (random: Random, most: number): string =>
  Array.from({ length: 1 + random.below(most) }, () => random.below(10)).join('');

/** The text of a number, mostly one that JavaScript does not keep. */
function numberText(random: Random): string {
  const whole = random.pick(['0', `${1 + random.below(9)}${digits(random, 24)}`]);
  const fraction = random.pick(['', '', `.${digits(random, 24)}`, '.0']);
  const exponent = random.pick(['', '', `e${random.pick(['', '+', '-'])}${digits(random, 3)}`, 'E00']);
  return `${random.pick(['', '-'])}${whole}${fraction}${exponent}`;
}

const NAMES = [...String.raw`a 10 2 1 01 -1 4294967295 __proto__ constructor \ é`.split(' '), 'a "b"', ''];

/** A JSON text without spaces, with numbers and names that JavaScript writes differently. */
export function exactText(random: Random, depth = 3): string {
  const kind = random.below(depth > 0 ? 6 : 3);
  if (kind < 2) return numberText(random);
  if (kind === 2) return random.pick(['null', 'true', '"1.0"', JSON.stringify(random.pick(NAMES))]);
  const count = random.below(5);
  if (kind === 3) return `[${Array.from({ length: count }, () => exactText(random, depth - 1)).join()}]`;
  const names = new Set(Array.from({ length: count }, () => random.pick(NAMES)));
  return `{${Array.from(names, (name) => `${JSON.stringify(name)}:${exactText(random, depth - 1)}`).join()}}`;
}
