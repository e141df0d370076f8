import { anyOf, table, type Words } from './letters.ts';

/** Written forms that the voices' package does not read, as ones that it reads or as words. */

const COUNT = String.raw`\d{1,15}(?:,\d{3}){0,5}(?:\.\d{1,15})?`;
/** No part of a longer number or word comes before. */
const START = String.raw`(?<![\p{L}\p{N}_.,])`;
const STOP = String.raw`(?![\p{L}\p{N}_])`;

const oneOf = (words: Readonly<Record<string, unknown>>): string => anyOf(Object.keys(words));

/** A table with the plural of each: of the noun before "per". */
const withPlurals = (text: string): Record<string, readonly [string, string]> =>
  Object.fromEntries(
    Object.entries(table(text)).map(([short, name]) => [short, [name, name.replace(/(?= per )|$/, 's')]]),
  );

const MONTHS = table(`
  Jan January, Feb February, Mar March, Apr April, Jun June, Jul July, Aug August, Sep September, Sept September,
  Oct October, Nov November, Dec December
`);
const MONTH = ['May', ...Object.values(MONTHS), ...Object.keys(MONTHS)].join('|');
const DAYS = table(`
  Mon Monday, Tue Tuesday, Tues Tuesday, Wed Wednesday, Thu Thursday, Thur Thursday, Thurs Thursday, Fri Friday,
  Sat Saturday, Sun Sunday
`);
/** Before a number, where the point would end a sentence. */
const BEFORE_NUMBERS = table(`
  p. page, pp. pages, Fig. Figure, fig. figure, Sec. Section, sec. section, Vol. Volume, vol. volume, Ch. Chapter,
  ch. chapter, Eq. Equation, eq. equation, Art. Article, art. article, min. minimum, max. maximum,
  approx. approximately, Rm. Room, rm. room, ca. about, c. about
`);
const PHRASES = table(`
  e.g. for example, i.e. that is, viz. namely, a.k.a. also known as, c/o care of, incl. including,
  excl. excluding, dept. department, govt. government, mgr. manager, tel. telephone, Tel. Telephone, avg. average,
  misc. miscellaneous, temp. temperature, yrs. years, ext. extension, Ctrl Control, Cmd Command,
  resp. respectively
`);

/** Names of one and of many. */
const CURRENCIES: Readonly<Record<string, readonly [string, string]>> = {
  ...withPlurals(`
    USD dollar, EUR euro, GBP pound, CHF Swiss franc, INR rupee, CAD Canadian dollar, AUD Australian dollar,
    PLN zloty, BRL real, MXN Mexican peso, zł zloty
  `),
  JPY: ['yen', 'yen'],
  CNY: ['yuan', 'yuan'],
  SEK: ['Swedish krona', 'Swedish kronor'],
  NOK: ['Norwegian krone', 'Norwegian kroner'],
  DKK: ['Danish krone', 'Danish kroner'],
  KRW: ['won', 'won'],
  kr: ['krone', 'kroner'],
  '₿': ['bitcoin', 'bitcoin'],
};
const DOLLARS = table(`
  US U.S., CA Canadian, C Canadian, AU Australian, A Australian, NZ New Zealand, HK Hong Kong, S Singapore
`);
const MONEY: Words = { $: 'dollar', '€': 'euro', '£': 'pound' };
const SCALES: Words = { bn: 'billion', mn: 'million', tn: 'trillion', bln: 'billion', mln: 'million' };

const UNITS: Readonly<Record<string, readonly [string, string]>> = {
  ...withPlurals(`
    m meter, g gram, l liter, L liter, h hour, W watt, Wh watt hour, V volt, J joule, kJ kilojoule, cal calorie,
    kcal kilocalorie, ha hectare, t ton, tsp teaspoon, tbsp tablespoon, mL milliliter, dl deciliter, cl centiliter,
    kPa kilopascal, hPa hectopascal, mA milliamp, mV millivolt, kV kilovolt, dB decibel, px pixel, ns nanosecond,
    µs microsecond, μs microsecond, μm micrometer, μg microgram, kbps kilobit per second, mbps megabit per second,
    gbps gigabit per second, Ω ohm, kΩ kilo ohm, MΩ mega ohm, m2 square meter, m3 cubic meter, km2 square kilometer,
    cm3 cubic centimeter, mpg mile per gallon, MP megapixel, bpm beat per minute, rpm revolution per minute,
    dpi dot per inch, m² square meter, m³ cubic meter, km² square kilometer, cm² square centimeter,
    cm³ cubic centimeter, m/s² meter per second squared, mg/ml milligram per milliliter,
    mg/mL milligram per milliliter, m/s meter per second, km/s kilometer per second, MB/s megabyte per second,
    GB/s gigabyte per second, kB/s kilobyte per second, Mbit/s megabit per second, Gbit/s gigabit per second,
    g/km gram per kilometer, g/l gram per liter, mg/l milligram per liter, mg/dl milligram per deciliter,
    mg/kg milligram per kilogram
  `),
  psi: ['P.S.I.', 'P.S.I.'],
  'ft²': ['square foot', 'square feet'],
  'l/100 km': ['liter per 100 kilometers', 'liters per 100 kilometers'],
};
const PER = table(`
  month month, mo month, year year, yr year, week week, wk week, day day, hour hour, hr hour, h hour,
  minute minute, min minute, person person, user user, night night, unit unit, item item, kg kilogram, lb pound,
  km kilometer, mile mile, GB gigabyte, kWh kilowatt hour
`);
const SIGNS = table(`
  <= less than or equal to, ≤ less than or equal to, >= greater than or equal to, ≥ greater than or equal to,
  != not equal to, ≠ not equal to, == equals, ≈ about, -> to, => to, ⇒ to, √ the square root of, ∆ delta,
  ∫ the integral of, ∂ partial, ∪ union, ∩ intersection, ⊂ subset of, ∉ not in, ∀ for all, ∃ there exists,
  ∝ proportional to, ∴ therefore, ⇔ if and only if, ¬ not, && and, ∞ infinity, ∑ the sum of, ∈ in,
  ∅ the empty set, ‰ per mille, № number
`);
/** Units between a number and a noun: "a 10-yr plan". */
const SHORT_UNITS = table(`
  yr year, hr hour, min minute, sec second, ft foot, in inch, lb pound, oz ounce, mi mile, km kilometer,
  kg kilogram, mm millimeter, cm centimeter
`);
const DIRECTIONS: Words = { N: 'north', S: 'south', E: 'east', W: 'west' };
const SUFFIXES: Words = { k: 'thousand', M: 'million', B: 'billion' };

const FRACTIONS = table(`
  ½ one half, ⅓ one third, ⅔ two thirds, ¼ one quarter, ¾ three quarters, ⅕ one fifth, ⅛ one eighth,
  ⅜ three eighths, ⅝ five eighths, ⅞ seven eighths
`);

const nameOf = (short: string): string => DAYS[short] ?? MONTHS[short] ?? short;
const spelled = (digits: string): string => Array.from(digits.replaceAll(/\D/g, '')).join(' ');
/** Reads the digits of each group, with a pause between groups. */
const digitGroups = (number: string): string => (number.match(/\d+/g) ?? []).map(spelled).join(', ');
const named = (count: string, [one, many]: readonly [string, string] = ['', '']): string =>
  `${count} ${count === '1' ? one : many}`;
const counted = (count: string, noun: string): string => named(count, [noun, `${noun}s`]);
const minus = (number: string): string => number.replace('-', 'minus ').replace('+', '');
const superscript = (digits: string): string => digits.normalize('NFKC').replace('−', 'minus ');

type Replace = (...groups: string[]) => string;

/** @param replacement a text with `$1` and the like, or a function of the match and its groups */
const rule = (pattern: string, replacement: string | Replace): ((text: string) => string) => {
  const expression = new RegExp(pattern, 'gu');
  if (typeof replacement === 'string') return (text) => text.replaceAll(expression, replacement);
  // `replaceAll()` passes undefined for a group that is absent.
  const replace: Replace = (...groups) => replacement(...groups.map((group) => group ?? ''));
  return (text) => text.replaceAll(expression, replace);
};

/** Replaces what was written, the first group, by its word. */
const inWords =
  (words: Words, before = '', after = ''): Replace =>
  (_, written) =>
    `${before}${words[written] ?? written}${after}`;

/** Rules in the order in which they apply. */
const RULES = [
  rule(`${START}(${oneOf(PHRASES)})(?![\\p{L}\\p{N}])`, inWords(PHRASES)),
  rule(`${START}(${oneOf(BEFORE_NUMBERS)}) ?(?=\\d)`, inWords(BEFORE_NUMBERS, '', ' ')),
  // Dates and times.
  rule(String.raw`${START}(\d{1,2})\.(?=\d{2} ?[ap]\.?m)`, '$1:'),
  rule(String.raw`${START}(\d{4})\/(\d{2})\/(\d{2})(?![\d/])`, '$1-$2-$3'),
  rule(
    String.raw`${START}(\d{1,2})m ?(\d{1,2})s${STOP}`,
    (_, minutes, seconds) => `${counted(minutes, 'minute')} ${counted(seconds, 'second')}`,
  ),
  rule(
    String.raw`(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?${STOP}`,
    '$1, $2',
  ),
  rule(String.raw`${START}(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\.?\d)`, (match, day, month, year) =>
    Number(month) <= 12 ? `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}` : match,
  ),
  rule(String.raw`${START}(?:[Tt]he )?(\d{1,2})(?:st|nd|rd|th) (?:of )?(?=(?:${MONTH})${STOP})`, '$1 '),
  rule(String.raw`${START}(${oneOf(MONTHS)})\.? (?=\d)`, inWords(MONTHS, '', ' ')),
  rule(
    String.raw`${START}(${oneOf(DAYS)}|${oneOf(MONTHS)})\.? ?[-–] ?(${oneOf(DAYS)}|${oneOf(MONTHS)}|May)${STOP}`,
    (_, from, to) => `${nameOf(from)} to ${nameOf(to)}`,
  ),
  rule(String.raw`${START}(${oneOf(DAYS)})\.?(?=,? (?:\d|the \d|(?:${MONTH})${STOP}))`, inWords(DAYS)),
  rule(String.raw`(?<=\p{Ll})–(?=\d)`, ' to '),
  rule(String.raw`(?<=\d ?[ap]\.?m\.?|\d ?[AP]\.?M\.?|\d:\d{2}) ?[-–] ?(?=\d)`, ' to '),
  rule(
    String.raw`${START}(\d{1,2}) ?([ap])(?:m${STOP}|\.m\.)`,
    (_, hour, half) => `${hour} ${half.toUpperCase()}.M.`,
  ),
  rule(String.raw`${START}(1[3-9]|2[0-3]):00(?![:\d])`, '$1 hundred'),
  rule(
    String.raw`${START}(\d{1,3}) ?h ?(\d{1,2}) ?m(?:in)?${STOP}`,
    (_, hours, minutes) => `${counted(hours, 'hour')} ${counted(minutes, 'minute')}`,
  ),
  rule(
    String.raw`(?<=\b(?:takes?|took|for|in|after|within|about|than|every|wait|lasts?|lasted) )(${COUNT})s${STOP}`,
    (_, count) => counted(count, 'second'),
  ),
  rule(String.raw`${START}(${COUNT}) s${STOP}`, (_, count) => counted(count, 'second')),
  // Telephone numbers, addresses of machines, versions, codes.
  rule(String.raw`(?<=\b(?:[Dd]ial|[Cc]all) )\d{3}(?![\d.,-])`, spelled),
  rule(String.raw`(?<=, [A-Z]{2} )\d{5}(?:-\d{4})?(?![\d-])`, digitGroups),
  rule(String.raw`#(?=[A-Z]{1,4}-?\d)`, 'number '),
  rule('IPv(?=[46])', 'I P V '),
  rule(
    String.raw`(?<![\p{L}\p{N}_.,\-])\+\d{1,3}(?:[ \-.]\(?\d{1,5}\)?){2,5}(?![\d\-])`,
    (number) => `plus ${digitGroups(number)}`,
  ),
  rule(String.raw`(?<![\p{L}\p{N}_.,\-])\d{1,5}(?:-\d{1,7}){3,5}(?![\p{L}\p{N}\-])`, digitGroups),
  rule(String.raw`(?<![\p{L}\p{N}_.,\-])(?:\(\d{3}\) ?|\d{3}[ \-.])\d{3}[ \-.]\d{4}(?![\d\-])`, digitGroups),
  rule(
    String.raw`(?<![\p{L}\p{N}_.,\-])(\d{3})-(\d{4})(?![\d-])`,
    (_, first, second) => `${spelled(first)}, ${spelled(second)}`,
  ),
  rule(String.raw`${START}\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?!\.?\d)`, (address) =>
    address.replaceAll('.', ' dot ').replace(':', ' colon '),
  ),
  rule(
    String.raw`(?<![\p{L}\p{N}_])(?:([Vv])ersion |v)(\d{1,4}(?:\.\d{1,4}){1,4})(?!\.?\d)`,
    (_, v, number) => `${v || 'v'}ersion ${number.replaceAll('.', ' point ')}`,
  ),
  rule(String.raw`${START}\d{1,3}(?:\.\d{3}){2}(?!\.?\d)`, (number) => number.replaceAll('.', '')),
  rule(String.raw`${START}\d{1,4}(?:\.\d{1,4}){2,4}(?!\.?\d)`, (number) => number.replaceAll('.', ' point ')),
  rule(String.raw`${START}0x[\dA-Fa-f]{1,16}${STOP}`, (number) => Array.from(number.toUpperCase()).join(' ')),
  // Groups of thousands.
  rule(String.raw`(?<![\d.,])\d{1,3}(?:[  ]\d{3})+(?![\d.,]\d|\d)`, (number) => number.replaceAll(/\D/g, '')),
  rule(String.raw`(?<![\d.,'’_])\d{1,3}(?:['’_]\d{3})+(?![\d'’_])`, (number) => number.replaceAll(/\D/g, '')),
  rule(String.raw`(?<![\d.,])\d{1,2}(?:,\d{2}){1,5},\d{3}(?![\d,])`, (number) => number.replaceAll(',', '')),
  rule(String.raw`(?<![\d.,])\d{1,3}(?:\.\d{3}){1,5},\d{1,9}(?!\d)`, (number) =>
    number.replaceAll('.', '').replace(',', '.'),
  ),
  // Money.
  rule(String.raw`([$€£]\d{1,9}),(?=\d{2}(?!\d))`, '$1.'),
  rule(String.raw`${START}\d{1,3}(?:\.\d{3}){1,5}(?= ?(?:€|EUR|kr|zł)${STOP})`, (number) =>
    number.replaceAll('.', ''),
  ),
  rule(String.raw`(?<=[$€£]\d{1,9})[.,](?:--|[-–—])(?!\d)`, ''),
  rule(String.raw`(?<![\p{L}\p{N}])R\$ ?(?=\d)`, 'BRL '),
  rule(String.raw`([$€£])(?=\.\d)`, (_, sign) => `${sign}0`),
  rule(String.raw`(?<![\p{L}\p{N}_])(?:[-−]([$€£])|([$€£])[-−])(?=\d)`, (_, a, b) => `minus ${a || b}`),
  rule(
    String.raw`(?<![\p{L}\p{N}_])(${oneOf(DOLLARS)})\$(${COUNT})`,
    (_, country, count) => `${count} ${DOLLARS[country] ?? ''} ${count === '1' ? 'dollar' : 'dollars'}`,
  ),
  rule(String.raw`${START}(\d{1,9}),(\d{2}) ?([€£$])`, '$3$1.$2'),
  rule(String.raw`(?<![\p{L}\p{N}_.,$€£])(${COUNT}) ?([€£$])(?!\d)`, '$2$1'),
  rule(String.raw`${START}(${COUNT}) ?([A-Z]{3}|kr|zł)${STOP}`, (match, count, code) =>
    CURRENCIES[code] ? named(count, CURRENCIES[code]) : match,
  ),
  rule(String.raw`(?<![\p{L}\p{N}_])([A-Z]{3}|₿) ?(${COUNT})`, (match, code, count) =>
    CURRENCIES[code] ? named(count, CURRENCIES[code]) : match,
  ),
  rule(
    String.raw`([$€£]${COUNT}) ?(${oneOf(SCALES)})${STOP}`,
    (_, amount, scale) => `${amount} ${SCALES[scale] ?? ''}`,
  ),
  rule(String.raw`([$€£])(${COUNT}) ?[-–—] ?[$€£]?(?=\d)`, '$2 to $1'),
  rule(
    String.raw`(?<![\p{L}\p{N}_])([Aa]n?) ([$€£])(${COUNT})((?:-| )(?:thousand|million|billion|trillion))?(?= [a-z]+)(?! (?:hundred|thousand|million|billion|trillion|to|and|or|more|less|per|for|in|on|is|was)${STOP})`,
    (_, article, sign, count, scale) => `${article} ${count}${scale} ${MONEY[sign] ?? ''}`,
  ),
  rule(
    String.raw`(?<![\p{L}\p{N}_])(?:([€£])(?![\d.,-])|\$(?=\p{L}(?![^$\s]{0,50}\$)|\s*$))`,
    (_, sign) => ` ${MONEY[sign || '$'] ?? ''} `,
  ),
  rule(String.raw`(?<=\d)\/(${oneOf(PER)})${STOP}`, inWords(PER, ' per ')),
  // Numbers.
  rule(String.raw`(?<=\d)(?:ST|ND|RD|TH)${STOP}`, (ending) => ending.toLowerCase()),
  rule(
    String.raw`${START}(${COUNT})([kMB])(?= (?!run|race)[a-z])`,
    (_, count, suffix) => `${count} ${SUFFIXES[suffix] ?? ''}`,
  ),
  rule(String.raw`(?<=[=<>] ?)(\d)(\d{3})(?![\d.,])`, '$1,$2'),
  rule(String.raw`(?<=\d)!(?= ?[=+*/×÷])`, ' factorial'),
  rule(
    String.raw`(?<![\p{L}\p{N}_])([A-Za-z])\(([\p{L}\p{N}]{1,3})\)`,
    (_, name, argument) => `${name.toUpperCase()} of ${argument}`,
  ),
  rule(`(?<=[0-9]°) ?([NSEW])${STOP}`, inWords(DIRECTIONS, ' ')),
  rule('[₀₁₂₃₄₅₆₇₈₉]+', (digits) => digits.normalize('NFKC')),
  rule(
    String.raw`(?<![\p{L}\p{N}_(])(?:(?:Na|Cl|Ca|Mg|Al|Si|Fe|Cu|Zn|Ag|Au|Pb|Br|[HCNOSPKFI])\d?){2,8}${STOP}`,
    (formula) =>
      /\d/.test(formula) || (/[a-z]/.test(formula) && /[A-Z].?[A-Z]/.test(formula))
        ? Array.from(formula.toUpperCase()).join(' ')
        : formula,
  ),
  rule(String.raw`${START}(\d{1,9}),(\d{1,2})(?= ?(?:%|°|[a-zA-Z]{1,2}${STOP}))`, '$1.$2'),
  rule(String.raw`(?<=\p{L})0\d{1,30}(?![\d.,:])`, (digits) => ` ${spelled(digits)}`),
  // Commas that group no thousands.
  rule(String.raw`(?<![\d.,])\d{1,30}(?:,\d{1,30}){1,99}(?![\d,])`, (numbers) =>
    /^\d{1,3}(?:,\d{3})+$/.test(numbers) ? numbers : numbers.replaceAll(',', ', '),
  ),
  rule(
    String.raw`${START}(\d{1,15}(?:\.\d{1,15})?)[eE]([+-]?\d{1,3})${STOP}`,
    (_, number, power) => `${number} times 10 to the power of ${minus(power)}`,
  ),
  rule(
    String.raw`(?:\^|(?<=\d)\*\*)\{?([-−+]?\d{1,9})\}?`,
    (_, power) => ` to the power of ${minus(power.replace('−', '-'))}`,
  ),
  rule('(?<=[0-9)])([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]{2,}|[⁰¹⁴⁵⁶⁷⁸⁹])', (_, power) => ` to the power of ${superscript(power)}`),
  rule('(?<=[A-Za-z])([⁴⁵⁶⁷⁸⁹])', (_, power) => ` to the power of ${superscript(power)}`),
  rule(String.raw`(?<=(?<!\d|(?<!\d)\p{L})\d{1,9}) ?x ?(?=\d)`, ' by '),
  rule(String.raw`(?<=\d)x${STOP}(?! ?[+\-−*/=^])`, ' times'),
  rule(
    `(\\d?)([${Object.keys(FRACTIONS).join('')}])`,
    (_, whole, fraction) => `${whole && `${whole} and `}${FRACTIONS[fraction] ?? ''} `,
  ),
  rule(String.raw`${START}(\d{1,3}) (?=[1-9]\/[2-9]${STOP})`, '$1 and '),
  rule(String.raw`(?<![\d:])(\d{1,4}):(\d)(?![\p{L}\d:])`, '$1 to $2'),
  rule(String.raw`(?<=[Rr]atio (?:of )?)(\d{1,4}):(\d{1,4})`, '$1 to $2'),
  rule(String.raw`(?<![\d/])(?:(\d{1,3})\/\1|24\/7)(?![\d/])`, (match) => match.replace('/', ' ')),
  rule(String.raw`(?<![\d/])(\d{1,2})\/(?!19|20)(\d{3,6})(?![\d/])`, '$1 over $2'),
  rule(String.raw`(?<![\d/])(\d{3})\/(\d{2,3})(?![\d/])`, '$1 over $2'),
  rule(String.raw`(?<![\p{L}\p{N}_.,:/$€£\-])0\d{1,30}(?![\p{L}\p{N}_:/\-]|[.,]\d)`, spelled),
  rule(
    String.raw`(?<![\p{L}\p{N}_.)])\.(\d{1,30})(?![\p{L}\p{N}_])`,
    (_, digits) => `point ${spelled(digits)}`,
  ),
  rule(String.raw`(?<![\p{L}\p{N}_.\-])(\d{1,4}) ?[-–] ?(\d{1,4})(?=%| ?°|\.(?!\d)|–)`, '$1 to $2'),
  rule(
    String.raw`(?<=["“'‘])(\d{1,9})\.(\d{1,9})(?=["”'’])`,
    (_, whole, part) => `${whole} point ${spelled(part)}`,
  ),
  // Arithmetic.
  rule(String.raw`(?<=(?<![\p{L}\p{N}])[a-z\d] )\*(?= [a-z\d](?![\p{L}\p{N}]))`, 'times'),
  rule(String.raw`(?<=\d )[-−–](?= \d{1,15}(?:\.\d{1,15})? ?[=<>])`, 'minus'),
  rule(String.raw`(?<=\d ?)\*(?= ?\d)`, ' times '),
  rule(String.raw`(?<=\d )\/(?= \d)`, 'divided by'),
  rule(String.raw`(?<![\p{L}\p{N}_.)\]°%])[-−](?=\.?\d)`, 'minus '),
  rule('−', '-'),
  rule(String.raw`~ ?(?=[\d$€£])`, 'about '),
  rule(`(${oneOf(SIGNS)})`, inWords(SIGNS, ' ', ' ')),
  rule('(?<![A-Za-z])([A-G])#(?![A-Za-z0-9])', '$1 sharp'),
  // Lengths of people and screens; units.
  rule(String.raw`(?<=\d)-(${oneOf(SHORT_UNITS)})(?=[ -])`, inWords(SHORT_UNITS, '-')),
  rule(
    String.raw`(?<=\d ?)(${oneOf(SHORT_UNITS)}|lbs|hrs|mins|secs|tbsp|tsp)\.(?= (?:long|wide|tall|high|deep|thick|of)${STOP})`,
    (_, unit) => (unit === 'in' ? ' inches' : unit),
  ),
  rule(String.raw`(\d) ?(${oneOf(SHORT_UNITS)})\.(?= [a-z])`, (match, digit, unit) =>
    unit === 'in' ? match : `${digit}-${SHORT_UNITS[unit] ?? unit}`,
  ),
  rule(
    String.raw`${START}(\d{1,2})['′’](?: ?(\d{1,2})(?:["″”]|'')|(\d{1,2})${STOP})`,
    (_, feet, marked, bare) =>
      `${named(feet, ['foot', 'feet'])} ${named(marked || bare, ['inch', 'inches'])}`,
  ),
  rule(String.raw`${START}(${COUNT})(?:′|['’](?= (?:tall|wide|long|deep|high)${STOP}))`, (_, count) =>
    named(count, ['foot', 'feet']),
  ),
  rule(
    String.raw`${START}(${COUNT})(?:″|["”](?= (?:tall|wide|long|deep|thick|screen|display|monitor|TV|pipe)${STOP}))`,
    (_, count) => named(count, ['inch', 'inches']),
  ),
  // The only quote of a line is no quote.
  rule(
    String.raw`(?<![\p{L}\p{N}_.,])(${COUNT})"(?<=(?:^|\n)[^"\n]{0,300}")(?=[^"\n]{0,300}(?:$|\n))`,
    '$1-inch',
  ),
  rule(
    String.raw`(?<![\p{L}\p{N}_.,$€£])(${COUNT}) ?(${oneOf(UNITS)})(?![\p{L}\p{N}_/²³'’])`,
    (_, count, unit) => named(count, UNITS[unit]),
  ),
];

/** Replaces what people write in numbers and signs by words, or by forms that the voices' package reads. */
export const readEverydayForms = (text: string): string =>
  RULES.reduce((words, replace) => replace(words), text);
