import type { Random } from '../chaos/random.ts';
import { array, hostileValue, json, nested, poisoned, text, times } from './hostile-values.ts';

/** Bodies of POST /v1/decisions as JSON text. What is sound is short, as it is computed. */

type Make = (random: Random) => string;

const MODELS = ['"jade-mole-4"', '"jade-mole-4"', '"amber-phoenix-4"'];
const list = (length: number, make: (index: number) => string): string =>
  `[${Array.from({ length }, (_, index) => make(index)).join(',')}]`;

const choiceOf = (value: string, more: Record<string, string> = {}): string => json({ value, ...more });
const question = (choices: string, more: Record<string, string> = {}): string =>
  json({ type: '"choice"', instructions: '"Which?"', choices, ...more });
const TWO = '[{"value":"a"},{"value":"b"}]';
const PREDICATE = '{"type":"predicate","instructions":"It is so."}';

const body = (random: Random, fields: Record<string, string>): string =>
  json({ model: random.pick(MODELS), input: '"Hi"', questions: `[${question(TWO)}]`, ...fields });
const asking = (make: Make): Make => {
  return (random) => body(random, { questions: `[${make(random)}]` });
};
const saying = (make: Make): Make => {
  return (random) => body(random, { input: `[${make(random)}]` });
};

const LABELS = [
  String.raw`"\""`,
  String.raw`"\\"`,
  String.raw`"\u0000"`,
  String.raw`"\ud800"`,
  String.raw`"\udbff\udfff"`,
  '"\u{1F468}\u200D\u{1F469}\u200D\u{1F467}\u0301"',
  '"好的"',
  '"]] ::= [^a] | ("',
  '"<|im_end|>"',
  '"\\n"',
  '" "',
  '"a  b"',
  '"__proto__"',
  '"constructor"',
  '"\ufeffa"',
];

/** What makes each label of a question another one. */
const MARKS: readonly ((index: number) => string)[] = [
  (index) => index.toString(2),
  (index) => 'ab '.repeat(index),
  (index) => String.fromCodePoint(0x1f600 + index),
  (index) => String.fromCharCode(0xd800 + index),
  (index) => 'e\u0301'.repeat(index),
];

/** Makes a question whose labels begin alike, in any order, with no more characters than a request may have. */
function alike(random: Random): string {
  const [mark, end] = [random.pick(MARKS), random.pick(['', 'a', 'the very same words ', '\t \n'])];
  const count = random.pick([2, 3, 20, 255]);
  const labels = Array.from({ length: count }, (_, index) => `${end}${mark(index)}${end}`);
  let left = 20_000;
  const own = labels.filter((label) => label.length <= 256 && (left -= label.length) >= 0);
  for (let at = own.length - 1; at > 0; at--) {
    const other = random.below(at + 1);
    [own[at], own[other]] = [own[other] ?? '', own[at] ?? ''];
  }
  return question(list(own.length, (index) => choiceOf(JSON.stringify(own[index]))));
}

const COUNTS = [0, 1, 2, 3, 255, 256, 2001, 60_000];
const LENGTHS = [0, 1, 255, 256, 257, 5000, 300_000];

const PARTS = [
  '{"type":"input_text","text":"a"}',
  '{"type":"output_text","text":"a"}',
  '{"type":"refusal","refusal":"a"}',
  '{"type":"input_image","image_url":"data:image/png;base64,AAAA"}',
  '{"type":"input_image","image_url":"https://example.com/a.png"}',
  '{"type":"input_json","data":{"a":[1,null]}}',
  '{"type":"input_file"}',
  '{}',
  'null',
];
const CALLS = [
  '{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}',
  '{"type":"function_call_output","call_id":"c","output":"a"}',
  '{"type":"custom_tool_call","call_id":"c","name":"f","input":""}',
  '{"type":"custom_tool_call_output","call_id":"c","output":[{"type":"input_text","text":"a"}]}',
  '{"type":"function_call_output","call_id":"","output":"a"}',
];

const KINDS: Record<string, Make> = {
  sound: (random) => body(random, random.below(2) === 0 ? { questions: `[${PREDICATE}]` } : {}),
  'a field': (random) =>
    body(random, {
      [random.pick(['model', 'input', 'questions', 'prompt_cache_key', '__proto__'])]: hostileValue(random),
    }),
  'a field of a question': asking((random) =>
    question(TWO, {
      [random.pick(['type', 'instructions', 'name', 'choices', 'levels', '', '__proto__'])]:
        hostileValue(random),
    }),
  ),
  'a field of a choice': asking((random) =>
    question(
      `[{"value":"a"},${choiceOf('"b"', { [random.pick(['value', 'description', 'x'])]: hostileValue(random) })}]`,
    ),
  ),
  labels: asking((random) => {
    const labels = new Set(Array.from({ length: 2 + random.below(5) }, () => random.pick(LABELS)));
    return question(list(labels.size, (index) => choiceOf([...labels][index] ?? '""')));
  }),
  'labels that begin alike': asking(alike),
  'labels of a length': asking((random) => {
    const long = JSON.stringify(
      random.pick(['a', '好', '\\', 'word ', '\u{1F600}']).repeat(random.pick(LENGTHS)),
    );
    return question(`[{"value":"a"},${choiceOf(long)}]`);
  }),
  'a count of choices': asking((random) => {
    const count = random.pick(COUNTS);
    return question(list(count, (index) => choiceOf(random.below(500) === 0 ? '"same"' : `"${index}"`)));
  }),
  'a count of levels': asking((random) => {
    const levels = list(random.pick([0, 1, 10, 11, 60_000]), (index) => `{"label":"${index}"}`);
    return json({ type: '"score"', instructions: '"How?"', levels });
  }),
  'a count of questions': (random) =>
    body(random, {
      model: '"jade-mole-4"',
      questions: `[${times(PREDICATE, random.pick([1, 20, 401, 60_000]))}]`,
    }),
  'many of many': (random) =>
    body(random, {
      questions: `[${times(question(list(255, (index) => choiceOf(`"${index}"`, { description: JSON.stringify('long '.repeat(40)) }))), random.pick([8, 40, 100]))}]`,
    }),
  'long descriptions': asking((random) => {
    const description = JSON.stringify('word '.repeat(random.pick([10, 600, 15_000, 200_000])));
    return question(`[{"value":"a","description":${description}},{"value":"b"}]`);
  }),
  instructions: asking((random) =>
    question(TWO, {
      instructions: random.pick([text(random), array(random), nested(random), `[${random.pick(PARTS)}]`]),
    }),
  ),
  'long statements': asking((random) =>
    json({
      type: '"predicate"',
      instructions: JSON.stringify(
        `${random.pick(['', 'data:'])}${random.pick(['!', '.?', ' ', '\t\n']).repeat(random.pick([100, 90_000, 1_000_000]))}x`,
      ),
    }),
  ),
  'parts of the input': saying((random) => {
    const role = random.pick(['user', 'user', 'developer', 'system', 'assistant', 'tool', '']);
    const parts = list(1 + random.below(4), () => random.pick(PARTS));
    return json({ role: `"${role}"`, content: parts });
  }),
  'calls of the input': saying((random) =>
    Array.from({ length: 1 + random.below(4) }, () => random.pick(CALLS)).join(','),
  ),
  'a count of items': saying((random) =>
    times('{"role":"user","content":""}', random.pick([1, 8192, 8193, 200_000])),
  ),
  'a long input': (random) =>
    body(random, {
      input: JSON.stringify(random.pick(['word ', '好', '\n1']).repeat(random.pick([40_000, 1_500_000]))),
    }),
  structure: (random) => random.pick([array, nested, (from: Random) => poisoned(from, nested(from))])(random),
  cut: (random) => {
    const whole = body(random, {});
    return whole.slice(0, random.below(whole.length));
  },
};

export function hostileDecision(random: Random): { kind: string; body: string } {
  const kind = random.pick(Object.keys(KINDS));
  return { kind: `decision: ${kind}`, body: KINDS[kind]?.(random) ?? '' };
}
