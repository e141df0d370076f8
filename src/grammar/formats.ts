/**
 * Patterns of formats. They are narrower than the standards if few readers accept all that a standard allows.
 */
const DATE = [
  String.raw`\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))`,
  String.raw`(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29`,
].join('|');
const TIME = String.raw`(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)`;
const BYTE = String.raw`(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`;
const IPV4 = String.raw`${BYTE}(?:\.${BYTE}){3}`;
const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,20}[A-Za-z0-9])?';
const HOST = String.raw`${LABEL}(?:\.${LABEL}){0,5}`;
const WEB_HOST = String.raw`[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*`;
const H = '[0-9a-fA-F]{1,4}';
const IPV6 = [
  `(?:${H}:){7}${H}`,
  `(?:${H}:){1,7}:`,
  ...[1, 2, 3, 4, 5, 6].map((after) => `(?:${H}:){1,${7 - after}}(?::${H}){${after}}`),
  `:(?:(?::${H}){1,7}|:)`,
].join('|');
const ATOM = String.raw`[A-Za-z0-9!#$%&'*+/=?^_{|}~-]+`;
const PATH = String.raw`[A-Za-z0-9._~!$&'()*+,;=:@/-]`;
const AFTER_HOST = String.raw`(?:\?${PATH}*)?(?:#${PATH}*)?`;
const AFTER_DOMAIN = String.raw`(?::[1-9]\d{0,3})?(?:/${PATH}*)?${AFTER_HOST}`;
const WEB = `(?:https?|ftp|wss?)://${WEB_HOST}${AFTER_DOMAIN}`;
const OPAQUE = String.raw`(?:mailto|urn|tel|data|file|[a-z][a-z0-9+-]{1,15}):[A-Za-z0-9._~@+,;=:-]+`;
const POINTER = '(?:/(?:[^/~]|~[01])*)*';

export const FORMATS: Record<string, string> = {
  date: DATE,
  time: TIME,
  'date-time': `(?:${DATE})T${TIME}`,
  duration: String.raw`P(?=.)(?:\d{1,9}W|(?:\d{1,9}Y)?(?:\d{1,9}M)?(?:\d{1,9}D)?(?:T(?=\d)(?:\d{1,9}H)?(?:\d{1,9}M)?(?:\d{1,9}S)?)?)`,
  email: String.raw`${ATOM}(?:\.${ATOM})*@(?:[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*\.)+[A-Za-z]{2,}`,
  hostname: HOST,
  ipv4: IPV4,
  ipv6: IPV6,
  // Web addresses only: zod writes `httpUrl()` as the same format.
  uri: String.raw`https?://${WEB_HOST}\.[A-Za-z]{2,}${AFTER_DOMAIN}`,
  // Some readers accept only addresses with a top-level domain.
  url: String.raw`https?://(?:www\.)?[a-z0-9]+(?:-[a-z0-9]+)*\.[a-z]{2,}(?:/${PATH}*)?`,
  'uri-reference': `${WEB}|${OPAQUE}|/?${PATH.replace(':', '')}*${AFTER_HOST}`,
  uuid: '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}',
  'json-pointer': POINTER,
  byte: '(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?',
};

/** Wider patterns of formats, for schemas whose own `pattern` restricts the text. */
const BESIDE_PATTERNS: Record<string, string> = {
  uri: String.raw`[A-Za-z][A-Za-z0-9+.-]*:(?://(?:[A-Za-z0-9._-]+@)?${WEB_HOST}${AFTER_DOMAIN}|(?://)?/[A-Za-z0-9._~-]${PATH}*|[A-Za-z0-9._~@+,;=:-]${PATH}*${AFTER_HOST})`,
};

/** Aliases of formats. */
const ALIASES: Record<string, string> = {
  'idn-email': 'email',
  'idn-hostname': 'hostname',
  iri: 'uri',
  'iri-reference': 'uri-reference',
  base64: 'byte',
  guid: 'uuid',
  datetime: 'date-time',
};

/** Formats that do not restrict text, and formats that zod writes in addition to a pattern. */
const FREE = new Set([
  ...'password binary float double decimal number int uint'.split(' '),
  ...[8, 16, 32, 64].flatMap((bits) => [`int${bits}`, `uint${bits}`]),
  ...'starts_with ends_with includes lowercase uppercase'.split(' '),
]);

/** The pattern of a format; '': it restricts nothing; undefined: it is not known. */
export function formatPattern(format: string, besidePattern: boolean): string | undefined {
  if (FREE.has(format)) return '';
  const name = Object.hasOwn(ALIASES, format) ? ALIASES[format] : format;
  if (name === undefined || !Object.hasOwn(FORMATS, name)) return undefined;
  return `^(?:${(besidePattern && BESIDE_PATTERNS[name]) || FORMATS[name]})$`;
}
