import { expect, test } from 'vitest';

import { BARE } from '../../../../src/llama/internals/prompt-slots.ts';
import { withoutEscapes } from '../../../../src/llama/internals/escaped-text.ts';
import { COMMON, VIEWS } from '../../../../src/node/engine-files/linker/llama-abi.ts';
import { ASSIGN, loadKernels } from './host-module.ts';

const WRITE_TEXT = 'nlohmann::json_abi_v3_12_0::detail::serializer<nlohmann::...>::dump_escaped';
const ACTION = 'wllama_action';
const STEP = 'server_context::start_loop()';
const TOKENIZE = 'llama_vocab::tokenize';
const ACCEPT = 'common_sampler_accept';
const READ = 'llama_grammar_accept_token';
const FOLLOW = 'llama_grammar_advance_stack';
const LIMIT_STATES = 'server_prompt_cache::update()';

/** A `std::string` with 32-bit addresses; up to 10 bytes are in the struct itself. */
function writeString(bytes: Uint8Array): number {
  const { memory, allocate } = kernels;
  const at = allocate(12);
  if (bytes.length <= 10) {
    kernels.bytes.set(bytes, at);
    memory.setUint8(at + 11, bytes.length);
    return at;
  }
  const data = allocate(bytes.length);
  kernels.bytes.set(bytes, data);
  memory.setUint32(at, data, true);
  memory.setUint32(at + 4, bytes.length, true);
  memory.setUint32(at + 8, (0x80000000 | bytes.length) >>> 0, true);
  return at;
}

function readString(at: number): Uint8Array {
  const { memory } = kernels;
  const short = memory.getUint8(at + 11);
  if (short < 128) return kernels.bytes.slice(at, at + short);
  const data = memory.getUint32(at, true);
  return kernels.bytes.slice(data, data + memory.getUint32(at + 4, true));
}

let written: Uint8Array[] = [];
let actions: string[] = [];
let drafted: number[] = [];
let tokenized: [text: string, special: number][] = [];
const penalized: number[] = [];
let stacksRead = 0;
let [places, members] = [0, 0];
const STACK_BYTES = 12;
const kernels = loadKernels({
  // A place with optional members: the first, or one of those after it.
  [FOLLOW]: (count: number, _stack: number, stacks: number) => {
    kernels.memory.setUint32(stacks + 4, kernels.memory.getUint32(stacks + 4, true) + STACK_BYTES, true);
    if (count > 1) kernels.call(FOLLOW, count - 1, 0, stacks);
  },
  [READ]: (grammar: number) => {
    for (let i = 0; i < places; i++) kernels.call(FOLLOW, members, 0, grammar + 16);
    stacksRead = kernels.memory.getUint32(grammar + 20, true) / STACK_BYTES;
  },
  [ACCEPT]: (_sampler: number, token: number) => void penalized.push(token),
  [WRITE_TEXT]: (_serializer: number, text: number) => void written.push(readString(text)),
  [TOKENIZE]: (
    _vocab: number,
    text: number,
    size: number,
    _tokens: number,
    _most: number,
    special: number,
  ) => {
    tokenized.push([Buffer.from(kernels.bytes.slice(text, text + size)).toString(), special]);
    return 0;
  },
  [ASSIGN]: (_to: number, first: number, end: number, count: number) => {
    expect(end - first).toBe(4 * count);
    drafted = [...new Int32Array(kernels.bytes.buffer, first, count)];
  },
  [ACTION]: (name: number) => {
    actions.push(readName(name));
    kernels.call(STEP, 0);
    return 0;
  },
});

/** How often a call is left to originals. */
function originalsIn(run: () => unknown): number {
  const before = kernels.originals();
  run();
  return kernels.originals() - before;
}

/** A text that ends with a zero. */
const readName = (at: number): string =>
  Buffer.from(kernels.bytes.slice(at, kernels.bytes.indexOf(0, at))).toString();

/** @returns what the original was asked to write */
function write(bytes: Uint8Array): string {
  kernels.free();
  written = [];
  kernels.call(WRITE_TEXT, 0, writeString(bytes), 0);
  // The original throws where a part is not UTF-8.
  return written.map((part) => new TextDecoder('utf-8', { fatal: true }).decode(part)).join('');
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

test.each(['', 'plain', 'longer than a short string', 'é€😀', '\u{10FFFF}\u0800\uD7FF\uE000'])(
  'text in UTF-8 is written as it is (%j)',
  (text) => {
    expect(write(encode(text))).toBe(text);
    expect(written).toHaveLength(1);
  },
);

test('any bytes can be read back', () => {
  const emoji = encode('😀');
  const cases = [
    ...Array.from({ length: 4 }, (_, i) => emoji.slice(i)),
    ...Array.from({ length: 4 }, (_, i) => emoji.slice(0, i)),
    Uint8Array.of(0xc0, 0x80),
    Uint8Array.of(0xed, 0xa0, 0x80),
    Uint8Array.of(0xf4, 0x90, 0x80, 0x80),
    Uint8Array.of(0xe0, 0x80, 0x80, 0x61),
    Uint8Array.from([...encode('a long text before '), 0xff, ...encode(' and after'), 0x80]),
    // What stands for bytes, in the text itself.
    encode('\uFDD0\uFDDF\uFDE0'),
    Uint8Array.from({ length: 256 }, (_, i) => i),
  ];
  for (const bytes of cases) expect([...withoutEscapes(write(bytes))]).toEqual([...bytes]);
});

test('a text is whole, whatever it ends with', () =>
  expect(kernels.call('validate_utf8', writeString(Uint8Array.of(0x61, 0xf0, 0x9f)))).toBe(3));

/** The limit in bytes after llama.cpp has set it. */
const limited = (before: number): number => {
  const cache = kernels.allocate(20);
  kernels.memory.setUint32(cache + 12, before, true);
  kernels.call(LIMIT_STATES, cache);
  return kernels.memory.getUint32(cache + 12, true);
};

test('states are limited in tokens, unless llama.cpp lowers its limit in bytes', () => {
  expect([0, 1000].map(limited)).toEqual([0, 1000]);
  expect(kernels.originals()).toBe(2);
});

test.each([0, 5])('a buffer is cleared to its end: %i', (value) => {
  const [buffer, data] = [kernels.allocate(68), kernels.allocate(300)];
  kernels.memory.setUint32(buffer + 60, data, true);
  kernels.memory.setUint32(buffer + 64, 299, true);
  kernels.bytes.fill(0, data, data + 300).fill(7, data + 80, data + 300);
  kernels.call('ggml_backend_cpu_buffer_clear', buffer, value);
  expect(kernels.bytes.slice(data, data + 300)).toEqual(new Uint8Array(300).fill(value).fill(7, 299));
});

test('a graph is computed by the smaller function where that has all its operations', () => {
  // The state, its pool, graph, list and node in one place.
  const at = kernels.allocate(528);
  for (const [field, to] of Object.entries({ 12: 16, 16: 0, 72: 0, 524: 0 }))
    kernels.memory.setUint32(at + Number(field), at + to, true);
  kernels.memory.setInt32(at + 4, 1, true);
  const isSmall = (operation: number): boolean => {
    kernels.memory.setInt32(at + 56, operation, true);
    return originalsIn(() => kernels.call('ggml_graph_compute_thread', at)) === 0;
  };
  const small = Array.from({ length: 128 }, (_, operation) => operation).filter(isSmall);
  expect(small).toEqual([0, ...COMMON, ...VIEWS].toSorted((a, b) => a - b));
});

test('a load names a limit in MiB, which llama.cpp may lower', () => {
  actions = [];
  act('load_within_258');
  expect(actions).toEqual(['load']);
  act('get_result');
  expect([limited(0), limited(5)]).toEqual([258 * 2 ** 20, 5]);
  act('load_within_0');
  expect(limited(0)).toBe(0);
});

test('to take a result computes no step; the next action does', () => {
  kernels.free();
  actions = [];
  const names = ['get_result', 'take_result', 'get_result'];
  expect(names.map((name) => originalsIn(() => act(name)))).toEqual([1, 0, 1]);
  expect(actions).toEqual(['get_result', 'get_result', 'get_result']);
});

const act = (name: string): void => {
  const at = kernels.allocate(name.length + 1);
  kernels.bytes.set(encode(`${name}\0`), at);
  kernels.call(ACTION, at, 0);
};

test('a load that may draft drafts what occurred before', () => {
  kernels.free();
  /** llama.cpp's parameters of speculation after an assignment: type, and the first two n-gram maps. */
  const assigned = (type: number, ...hits: [number, number, number]) => {
    const { memory, allocate } = kernels;
    const [types, to] = [allocate(4), allocate(2048)];
    kernels.bytes.fill(0, to, to + 2048);
    memory.setInt32(types, type, true);
    memory.setUint32(to, types, true);
    for (const [i, each] of [hits, hits, hits].flat().entries())
      memory.setUint16(to + 1502 + 2 * i, each, true);
    kernels.call('common_params_speculative::operator=', to, to);
    return [
      memory.getInt32(types, true),
      ...[0, 1, 2, 3].map((i) => memory.getUint16(to + 1502 + 2 * i, true)),
    ];
  };
  act('load');
  expect(assigned(0, 12, 48, 1)).toEqual([0, 12, 48, 1, 12]);
  act('load_drafting');
  expect(assigned(0, 12, 48, 1)).toEqual([6, 2, 11, 1, 12]);
  expect(assigned(1, 12, 48, 1)).toEqual([1, 12, 48, 1, 12]);
  expect(assigned(0, 12, 48, 2)).toEqual([0, 12, 48, 2, 12]);
});

/** What is drafted after tokens, each a letter, in the last of two slots. */
function draftAfter(text: string, isWanted = true): string {
  const { memory, allocate } = kernels;
  kernels.free();
  const [tokens, vector, slots, all] = [allocate(4 * text.length), allocate(12), allocate(48), allocate(8)];
  for (let i = 0; i < text.length; i++) memory.setInt32(tokens + 4 * i, text.charCodeAt(i), true);
  memory.setUint32(vector, tokens, true);
  // The last token has not been computed yet.
  memory.setUint32(vector + 4, tokens + 4 * (text.length - 1), true);
  kernels.bytes.fill(0, slots, slots + 48);
  memory.setUint8(slots + 24, Number(isWanted));
  memory.setInt32(slots + 36, text.charCodeAt(text.length - 1), true);
  memory.setUint32(slots + 40, vector, true);
  memory.setUint32(all, slots, true);
  memory.setUint32(all + 4, slots + 48, true);
  drafted = [];
  kernels.call('common_speculative_impl_ngram_simple::draft', 0, all);
  return String.fromCharCode(...drafted);
}

test('a draft has as many tokens as occurred before, from 2 to 11, and only in a step that asks for it', () => {
  act('draft_result');
  const cases = {
    abcdefgab: 'cd',
    abcdefgabcd: 'efga',
    'abxyz,abcde;ab': 'cd',
    'zabxyz,abcde;zab': 'xyz',
    'ab.ab': '.a',
    aaaaaa: 'aa',
    abcdefb: '',
    a: '',
    '': '',
    [`${'abcdefghijklmnopqrstuvwxyz'.repeat(2)}abcdefghijklm`]: 'nopqrstuvwx',
  };
  for (const [text, expected] of Object.entries(cases)) {
    draftAfter('');
    expect([text, draftAfter(text)]).toEqual([text, expected]);
  }
  // After a draft that was all wrong, 5 tokens must have occurred.
  const after = ['ab,ab', 'ab,abb', 'ab,abb,', 'ab,abb,ab'].map((text) => draftAfter(text));
  expect(after).toEqual([',a', '', '', 'b,a']);
  expect(draftAfter('abcdab', false)).toBe('');
  for (const name of ['get_result', 'take_result', 'load']) {
    act(name);
    expect(draftAfter('abcdab')).toBe('');
  }
});

test('a text that begins with the mark has no token before it', () => {
  tokenized = [];
  for (const text of [BARE, `${BARE}a`, '', 'a', BARE.slice(0, 1), `a${BARE}`]) {
    kernels.free();
    const bytes = encode(text);
    const at = kernels.allocate(bytes.length);
    kernels.bytes.set(bytes, at);
    kernels.call(TOKENIZE, 0, at, bytes.length, 0, 0, 1, 0);
  }
  const read = tokenized.map(([text, special]) => `${special}${text}`);
  expect(read).toEqual(['0', '0a', '1', '1a', `1${BARE.slice(0, 1)}`, `1a${BARE}`]);
});

test('penalties count the tokens of a reply, and not those of its prompt', () => {
  for (const token of [1, 2, 7]) kernels.call(ACCEPT, 0, token, Number(token === 7));
  expect(penalized).toEqual([7]);
});

test.each([
  ['all alternatives of a place', ' ', 1, 900, 900, 900],
  ['some of those of many places', ' ', 400, 2, 800, 768],
  ['one alternative of a place after too many for a byte', ' ', 5000, 2, 5512, 768],
  ['one alternative of a place after too many', '                ', 5000, 2, 9096, 768],
])('a token is read in %s', (_, piece, ofPlaces, ofMembers, read, left) => {
  kernels.free();
  [places, members] = [ofPlaces, ofMembers];
  const grammar = kernels.allocate(28);
  kernels.bytes.fill(0, grammar, grammar + 28);
  kernels.call(READ, grammar, 0, writeString(encode(piece)));
  expect([stacksRead, kernels.memory.getUint32(grammar + 20, true) / STACK_BYTES]).toEqual([read, left]);
});
