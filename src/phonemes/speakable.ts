import { readEverydayForms } from './everyday-forms.ts';
import { own, table } from './letters.ts';

/** Text without what is written for the eye only: Markdown's marks, addresses and emojis. */

const GREEK = table(`
  α alpha, β beta, γ gamma, δ delta, ε epsilon, ζ zeta, η eta, θ theta, ι iota, κ kappa, λ lambda,
  μ mu, ν nu, ξ xi, π pi, ρ rho, σ sigma, τ tau, υ upsilon, φ phi, χ chi, ψ psi, ω omega
`);
/** Latin letters that consist of no letter and a mark. */
const FOLDED: Readonly<Record<string, string>> = { ł: 'l', Ł: 'L', đ: 'd', Đ: 'D', ı: 'i', ŋ: 'ng', ſ: 's' };
const ADDRESS_WORDS = table(String.raw`
  . dot, / slash, - dash, _ underscore, @ at, : colon, ? question mark, = equals, & and, # hash, % percent, + plus,
  ~ tilde, \ backslash
`);

const ENTITIES = {
  ...table(`
    amp &, lt <, gt >, quot ", apos ', ndash –, mdash —, hellip …, copy ©, lsquo ‘, rsquo ’, ldquo “, rdquo ”
  `),
  nbsp: ' ',
};
/** Endings of sites and of files that are read part by part. Others may be words, as in "Wait.Please". */
const SITE_ENDINGS =
  'com|org|net|edu|gov|io|co|uk|de|fr|info|dev|app|ai|eu|ch|at|ca|au|us|tv|ly|me|COM|ORG|NET';
const FILE_ENDINGS =
  'md|txt|js|mjs|cjs|ts|tsx|jsx|json|html?|css|py|rb|rs|go|java|cpp|sh|ya?ml|toml|xml|csv|tsv|sql|log|ini|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|webp|mp3|mp4|wav|zip|tar|gz|exe|dll|iso|gguf|onnx|wasm';

const URL_TEXT = /\b(?:(?:https?|ftp):\/\/(?:www\.)?|www\.)([^\s<>"'`)\]]*[^\s<>"'`)\].,;:!?])/giu;
const EMAIL = /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/gu;

const BARE_SITE = new RegExp(
  String.raw`(?<![\w@./-])(?:[\w-]{1,63}\.){1,6}(?:${SITE_ENDINGS})(?:[/?#][^\s<>"'\x60)\]]{0,500}[^\s<>"'\x60)\].,;:!?])?(?![\w@])`,
  'gu',
);
const FILE_NAME = new RegExp(
  String.raw`(?<![\w@.~/-])(?:~?/)?(?:[\w.-]{1,64}/){0,8}[\w-]{1,64}(?:\.[\w-]{1,64}){0,3}\.(?:${FILE_ENDINGS})(?![\w/])`,
  'gu',
);
const PATH = /(?<!\p{L})[A-Za-z]:\\\S{0,500}|(?<![^\s("'])~?(?:\/[\w.-]{1,64}){2,9}(?<![.-])/gu;

const spokenAddress = (address: string): string =>
  address
    .replace(/\/$/, '')
    .replaceAll(/[./\-_@:?=&#%+~\\]/g, (sign) => ` ${ADDRESS_WORDS[sign] ?? ''} `)
    .replaceAll(/(?<![\p{L}\p{N}])[A-Z]{5,}(?![\p{L}\p{N}])/gu, (part) => part.toLowerCase())
    // A letter, and a part that is no word, are read by their letters.
    .replaceAll(/(?<![\p{L}\p{N}])(?:[a-z]|uk|eu|ai|[b-df-hj-np-tv-xz]{2,4}\d?)(?![\p{L}\p{N}])/gu, (part) =>
      Array.from(part.toUpperCase()).join(' '),
    )
    .replaceAll(/\s+/g, ' ')
    .trim();

/** Letters that the voices' alphabet lacks, as others or as words. */
const foldLetters = (text: string): string =>
  text
    .replaceAll(
      /(?<!\p{Script=Greek})\p{Script=Greek}(?!\p{Script=Greek})/gu,
      (letter) => ` ${GREEK[letter.toLowerCase()] ?? letter} `,
    )
    .replaceAll(/[^\p{ASCII}À-ÿ]/gu, (letter) => {
      if (!/\p{Script=Latin}/u.test(letter)) return letter;
      const base = letter.normalize('NFD').replaceAll(/\p{M}/gu, '');
      return FOLDED[base] ?? base;
    });

/** Elements inside a word. */
const INLINE = /^(?:[abisu]|em|strong|code|span|sub|sup|mark|small|kbd|del|ins)$/i;
/** Elements that HTML lets have no end. */
const UNENDED = /^(?:area|br|col|dd|dt|hr|img|input|li|link|meta|option|p|source|t[dhr]|wbr)$/i;

function withoutHtml(text: string): string {
  const ended = new Set<string>(text.toLowerCase().match(/(?<=<\/)[a-z][a-z\d-]{0,20}/g));
  return text
    .replaceAll(/<!--[^]{0,2000}?-->/g, '')
    .replaceAll(/<(?=(?:https?:\/\/|mailto:|[\w.+-]{1,64}@))(?:mailto:)?([^<>\s]{1,2000})>/g, '$1')
    .replaceAll(/<\/?([a-z][a-z\d-]{0,20})(?:\s[^<>\n]{0,500})?\/?>/gi, (tag, name: string) => {
      // Others are placeholders, types and comparisons: `<url>`, `List<int>`, `a<b && c>d`.
      const isTag = /^<\/|\/>$/.test(tag) || UNENDED.test(name) || ended.has(name.toLowerCase());
      if (!isTag) return tag === `<${name}>` ? ` ${name} ` : tag;
      return INLINE.test(name) ? '' : ' ';
    })
    .replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,6}));/gi, (entity, decimal, hex, name: string) => {
      const code = decimal ? Number(decimal) : Number.parseInt(hex ?? '', 16);
      if (name) return own(ENTITIES, name) ?? entity;
      return code <= 0x10ffff ? String.fromCodePoint(code).toWellFormed() : ' ';
    });
}

/** Removes spaces and tabs at the ends. A pattern would take time with the square of their number. */
function trimBlanks(text: string): string {
  const isBlank = (at: number): boolean => text[at] === ' ' || text[at] === '\t';
  let start = 0;
  let end = text.length;
  while (isBlank(start)) start++;
  while (end > start && isBlank(end - 1)) end--;
  return text.slice(start, end);
}

const withoutMarkdown = (text: string): string =>
  text
    .replaceAll(/^ {0,3}\[[^\]\n]{1,200}\]:[ \t]{1,9}\S[^\n]*$/gm, '')
    .replaceAll(/\[\^[\w-]{1,40}\]/g, '')
    .replaceAll(/\[([^\][\n]{1,1000})\]\[[^\][\n]{0,200}\]/g, '$1')
    .replaceAll(/^[ \t]*=+[ \t]*$/gm, '')
    .replaceAll(/^([ \t]*#{1,6}[ \t][^\n]*?)[ \t]#+$/gm, '$1')
    .replaceAll(/^[ \t]*>(?:[ \t]*>)*/gm, '')
    .replaceAll(/^[ \t]*(?:```|~~~)[^\n]*$/gm, '')
    .replaceAll(/!?\[([^\][\n]{0,1000})\]\((?:[^()\n]|\([^()\n]{0,200}\)){0,2000}\)/g, '$1')
    .replaceAll(/^[ \t]*(?:[-*_][ \t]*){3,}$/gm, '')
    .replaceAll(/^(?=[^\n]*-)(?=[^\n]*\|)[ \t|:-]+$/gm, '')
    .replaceAll(/^[ \t]*(?:#{1,6}|[-*+•])[ \t]+(?:\[[ xX]\][ \t]+)?/gm, '')
    .replaceAll(/(\*\*|__|~~)(?=\S)([^\n]{1,1000}?)(?<=\S)\1/g, '$2')
    .replaceAll(/(?<![\p{L}\p{N}*])\*(?=\S)([^*\n]{1,1000}?)(?<=\S)\*(?![\p{L}\p{N}*])/gu, '$1')
    .replaceAll(/(?<![\p{L}\p{N}_])_(?=\S)([^_\n]{1,1000}?)(?<=\S)_(?![\p{L}\p{N}_])/gu, '$1')
    .replaceAll(/\[([^\][\n]{1,1000})\]/g, '($1)')
    .replaceAll(/`+/g, '')
    .split('|')
    .map(trimBlanks)
    .join(', ')
    .replaceAll(/^, |, $/gm, '');

const EMOJI =
  /(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\p{Regional_Indicator}|\u{FE0F}|\u{200D}|\u{20E3})+/gu;

/** Letters and spaces of other forms as usual ones: `Ａ`, `ﬁ`, `𝐁`, those without a width removed. */
const plainLetters = (text: string): string =>
  text
    .normalize('NFC')
    // Marks that no letter has.
    .replaceAll(/(?<=\p{Script=Latin})\p{M}+/gu, '')
    .replaceAll(/[\u{AD}\u{200B}\u{200C}\u{2060}\u{FEFF}]/gu, '')
    .replaceAll(/[\u{A0}\u{2007}\u{2009}\u{202F}]/gu, ' ')
    .replaceAll(/[\u{FF01}-\u{FF5E}\u{FB00}-\u{FB06}\u{1D400}-\u{1D7FF}]/gu, (letter) =>
      letter.normalize('NFKC'),
    )
    .replaceAll(/\bmailto:/g, '')
    // A line that was wrapped: the sentence goes on.
    .replaceAll(/(?<=[^\n]{40}[\p{L}\p{N},;])[ \t]?\r?\n(?=\p{Ll})/gu, ' ');

/** @returns the text as it is spoken; line breaks end sentences */
export function toSpeakable(text: string): string {
  const plain = withoutHtml(withoutMarkdown(plainLetters(text)))
    .replaceAll(URL_TEXT, (_, address: string) => spokenAddress(address))
    .replaceAll(EMAIL, spokenAddress)
    .replaceAll(FILE_NAME, spokenAddress)
    .replaceAll(PATH, spokenAddress)
    .replaceAll(BARE_SITE, spokenAddress)
    .replaceAll(/\blocalhost:(?=\d)/g, 'localhost colon ')
    .replaceAll(/(?<!\S)<[3/]+(?!\S)/g, '')
    .replaceAll(EMOJI, (sign) => (/^[©®™]+$/.test(sign) ? sign : ' '));
  return foldLetters(readEverydayForms(plain));
}

/** Finds letters that no voice can read: of another script than Latin. Null if there are none. */
export const findUnspeakable = (speakable: string): string | null =>
  /(?:(?!\p{Script=Latin})\p{L})+/u.exec(speakable.replaceAll(/[ªºµ]/g, ''))?.[0].slice(0, 40) ?? null;
