import { expect, test } from 'vitest';

import { parseFields } from '../../../../../src/worker/runtimes/whisper/form-fields.ts';
import {
  contentType,
  deltaEvent,
  doneEvent,
  formatWhole,
} from '../../../../../src/worker/runtimes/whisper/answer-formats.ts';
import { ServiceError } from '../../../../../src/errors/service-error.ts';

const segment = (id: number, start: number, end: number, text: string) => {
  const quality = { averageLogprob: -0.2, compressionRatio: 1.1, noSpeechProbability: 0.01 };
  return { id, seek: 0, start, end, text, tokens: [1, 2], temperature: 0, ...quality };
};
const transcript = {
  task: 'transcribe' as const,
  language: 'en',
  seconds: 3725.4321,
  segments: [segment(0, 0, 2.5, ' One --> two.'), segment(1, 3723.004, 3725.4, ' Three.')],
};

type Formats = Parameters<typeof formatWhole>[0];
const whole = (
  format: Formats['format'],
  of: Parameters<typeof formatWhole>[1],
  granularities: Formats['granularities'] = ['segment'],
) => formatWhole({ format, granularities }, of);

test('the formats', () => {
  expect(whole('text', transcript)).toBe('One --> two. Three.\n');
  expect(whole('srt', transcript)).toBe(
    '1\n00:00:00,000 --> 00:00:02,500\nOne -> two.\n\n2\n01:02:03,004 --> 01:02:05,400\nThree.\n\n',
  );
  expect(whole('vtt', transcript)).toBe(
    'WEBVTT\n\n00:00:00.000 --> 00:00:02.500\nOne -> two.\n\n01:02:03.004 --> 01:02:05.400\nThree.\n\n',
  );
  expect(JSON.parse(whole('json', transcript))).toEqual({
    text: 'One --> two. Three.',
    usage: { type: 'duration', seconds: 3726 },
  });
  expect(JSON.parse(whole('verbose_json', transcript))).toMatchObject({
    task: 'transcribe',
    language: 'english',
    duration: 3725.432,
    segments: [{ id: 0, start: 0, end: 2.5, avg_logprob: -0.2, no_speech_prob: 0.01 }, { id: 1 }],
  });
});

test('times of words, of segments, or of both', () => {
  const words = [{ word: 'One', start: 0.02, end: 0.339_999 }];
  const timed = { ...transcript, segments: [{ ...segment(0, 0, 2.5, ' One.'), words }] };
  const read = (...asked: Formats['granularities']) =>
    JSON.parse(whole('verbose_json', timed, asked)) as { words?: unknown; segments?: unknown };
  expect(read('word').words).toEqual([{ word: 'One', start: 0.02, end: 0.34 }]);
  expect(read('word')).not.toHaveProperty('segments');
  expect(read('segment')).not.toHaveProperty('words');
  expect(read('segment', 'word')).toMatchObject({ words: [{ word: 'One' }], segments: [{ id: 0 }] });
});

test('nothing was said', () => {
  const silent = { ...transcript, segments: [] };
  expect(whole('text', silent)).toBe('\n');
  expect(whole('srt', silent)).toBe('');
  expect(whole('vtt', silent)).toBe('WEBVTT\n\n');
  expect(deltaEvent([], true)).toBe('');
});

test('the events of a stream join to its text', () => {
  const read = (event: string) => JSON.parse(event.slice('data: '.length)) as Record<string, unknown>;
  const [first, second] = transcript.segments;
  if (!first || !second) throw new Error('two segments');
  expect(read(deltaEvent([first], true))).toEqual({
    type: 'transcript.text.delta',
    delta: 'One --> two.',
  });
  expect(read(deltaEvent([second], false))['delta']).toBe(' Three.');
  expect(read(doneEvent(transcript))).toMatchObject({
    type: 'transcript.text.done',
    text: 'One --> two. Three.',
    usage: { type: 'tokens', output_tokens: 4 },
  });
});

test('defaults, and lists under every name that clients give them', () => {
  expect(parseFields([['model', 'm']])).toEqual({
    language: null,
    prompt: '',
    format: 'json',
    temperature: 0,
    stream: false,
    granularities: ['segment'],
  });
  for (const name of ['timestamp_granularities[]', 'timestamp_granularities[0]', 'timestamp_granularities']) {
    const fields: [string, string][] = [
      [name, 'word'],
      [name, 'segment'],
      ['response_format', 'verbose_json'],
    ];
    expect(parseFields(fields).granularities).toEqual(['segment', 'word']);
  }
  expect(contentType(parseFields([['stream', 'true']]))).toBe('text/event-stream');
  expect(contentType(parseFields([['response_format', 'vtt']]))).toBe('text/vtt; charset=utf-8');
  expect(
    parseFields([
      ['language', 'EN'],
      ['temperature', '.5'],
    ]),
  ).toMatchObject({
    language: 'en',
    temperature: 0.5,
  });
});

test.for([
  [[['response_format', 'xml']], 'response_format', 'invalid_value'],
  [[['temperature', '2']], 'temperature', 'invalid_value'],
  [[['temperature', 'NaN']], 'temperature', 'invalid_value'],
  [[['language', 'english']], 'language', 'invalid_value'],
  [[['prompt', 'x'.repeat(10_001)]], 'prompt', 'invalid_value'],
  [[['stream', 'yes']], 'stream', 'invalid_value'],
  [
    [
      ['stream', 'true'],
      ['response_format', 'srt'],
    ],
    'stream',
    'invalid_parameter_combination',
  ],
  [[['timestamp_granularities[]', 'segment']], 'timestamp_granularities[]', 'invalid_parameter_combination'],
  [
    [
      ['timestamp_granularities[]', 'letter'],
      ['response_format', 'verbose_json'],
    ],
    'timestamp_granularities[]',
    'invalid_value',
  ],
  [[['include[]', 'logprobs']], 'include[]', 'unsupported_value'],
  [[['known_speaker_names[0]', 'Ann']], 'known_speaker_names[]', 'unsupported_value'],
] as const)('%j is a 400 that names the field', ([fields, param, code]) => {
  let thrown: unknown;
  try {
    parseFields(fields as unknown as [string, string][]);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(ServiceError);
  const { wire } = thrown as ServiceError;
  expect(wire).toMatchObject({ status: 400, param, code });
  expect(wire.message).toContain(`\`${param}\``);
});
