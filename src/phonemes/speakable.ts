/** Text without what is written for the eye only: Markdown's marks, addresses and emojis. */

const GREEK: Readonly<Record<string, string>> = {
  α: 'alpha',
  β: 'beta',
  γ: 'gamma',
  δ: 'delta',
  ε: 'epsilon',
  ζ: 'zeta',
  η: 'eta',
  θ: 'theta',
  ι: 'iota',
  κ: 'kappa',
  λ: 'lambda',
  μ: 'mu',
  ν: 'nu',
  ξ: 'xi',
  π: 'pi',
  ρ: 'rho',
  σ: 'sigma',
  τ: 'tau',
  υ: 'upsilon',
  φ: 'phi',
  χ: 'chi',
  ψ: 'psi',
  ω: 'omega',
};
/** Latin letters that consist of no letter and a mark. */
const FOLDED: Readonly<Record<string, string>> = { ł: 'l', Ł: 'L', đ: 'd', Đ: 'D', ı: 'i', ŋ: 'ng', ſ: 's' };
const ADDRESS_WORDS: Readonly<Record<string, string>> = {
  '.': 'dot',
  '/': 'slash',
  '-': 'dash',
  _: 'underscore',
  '@': 'at',
  ':': 'colon',
  '?': 'question mark',
  '=': 'equals',
  '&': 'and',
  '#': 'hash',
  '%': 'percent',
  '+': 'plus',
  '~': 'tilde',
};

const URL_TEXT =
  /\b(?:https?|ftp):\/\/(?:www\.)?([^\s<>"'`)\]]*[^\s<>"'`)\].,;:!?])|\bwww\.([^\s<>"'`)\]]*[^\s<>"'`)\].,;:!?])/giu;
const EMAIL = /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/gu;

const spokenAddress = (address: string): string =>
  address
    .replace(/\/$/, '')
    .replaceAll(/[./\-_@:?=&#%+~]/g, (sign) => ` ${ADDRESS_WORDS[sign] ?? ''} `)
    .replaceAll(/\s+/g, ' ')
    .trim();

/** Letters that the voices' alphabet lacks, as others or as words. */
const foldLetters = (text: string): string =>
  text
    .replaceAll(/(?<!\p{L})\p{Script=Greek}(?!\p{L})/gu, (letter) => GREEK[letter.toLowerCase()] ?? letter)
    .replaceAll(/[^\p{ASCII}À-ÿ]/gu, (letter) => {
      if (!/\p{Script=Latin}/u.test(letter)) return letter;
      const base = letter.normalize('NFD').replaceAll(/\p{M}/gu, '');
      return FOLDED[base] ?? base;
    });

const withoutMarkdown = (text: string): string =>
  text
    .replaceAll(/^[ \t]*(?:```|~~~)[^\n]*$/gm, '')
    .replaceAll(/!?\[([^\][\n]{0,1000})\]\([^()\n]{0,2000}\)/g, '$1')
    .replaceAll(/^[ \t]*(?:[-*_][ \t]*){3,}$/gm, '')
    .replaceAll(/^[ \t]*\|?(?:[ \t]*:?-{2,}:?[ \t]*\|)+[ \t]*:?-*:?[ \t]*$/gm, '')
    .replaceAll(/^[ \t]*(?:#{1,6}|>|[-*+•])[ \t]+/gm, '')
    .replaceAll(/(\*\*|__|~~)(?=\S)([^\n]{1,1000}?)(?<=\S)\1/g, '$2')
    .replaceAll(/(?<![\p{L}\p{N}*])\*(?=\S)([^*\n]{1,1000}?)(?<=\S)\*(?![\p{L}\p{N}*])/gu, '$1')
    .replaceAll(/(?<![\p{L}\p{N}_])_(?=\S)([^_\n]{1,1000}?)(?<=\S)_(?![\p{L}\p{N}_])/gu, '$1')
    .replaceAll(/`+/g, '')
    .replaceAll(/[ \t]*\|[ \t]*/g, ', ')
    .replaceAll(/^, |, $/gm, '');

const EMOJI =
  /(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\p{Regional_Indicator}|\u{FE0F}|\u{200D}|\u{20E3})+/gu;

/** @returns the text as it is spoken; line breaks end sentences */
export function toSpeakable(text: string): string {
  const plain = withoutMarkdown(text.normalize('NFC'))
    .replaceAll(URL_TEXT, (_, address: string | undefined, short: string | undefined) =>
      spokenAddress(address ?? short ?? ''),
    )
    .replaceAll(EMAIL, spokenAddress)
    .replaceAll(EMOJI, (sign) => (/^[©®™]+$/.test(sign) ? sign : ' '));
  return foldLetters(plain);
}

/** Finds letters that no voice can read: of another script than Latin. Null if there are none. */
export const findUnspeakable = (speakable: string): string | null =>
  /(?:(?!\p{Script=Latin})\p{L})+/u.exec(speakable.replaceAll(/[ªºµ]/g, ''))?.[0].slice(0, 40) ?? null;
