import { expect, test } from 'vitest';

import { ServiceError } from '../../../../src/base/errors/service-error.ts';
import type { Transcript } from '../../../../src/jobs/transcription.ts';
import { type Format, parseFields } from '../../../../src/service/transcriptions/transcription-form.ts';
import {
  contentTypeOf,
  deltaEvent,
  doneEvent,
  formatTranscript,
  textOf,
} from '../../../../src/service/transcriptions/transcript-formats.ts';

const segment = (id: number, start: number, end: number, text: string) => {
  const quality = { averageLogprob: -0.2, compressionRatio: 1.1, noSpeechProbability: 0.01 };
  return { id, seek: 0, start, end, text, tokens: [1, 2], temperature: 0, ...quality };
};
const transcript = {
  language: 'en',
  seconds: 3725.4321,
  segments: [segment(0, 0, 2.5, ' One --> two.'), segment(1, 3723.004, 3725.4, ' Three.')],
};

type Times = Parameters<typeof formatTranscript>[2]['times'];
const whole = (format: Format, of: Transcript, times: Times = ['segment']) =>
  formatTranscript(format, of, { task: 'transcribe', times });

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

test('languages have Whisper’s names; a translation is in English', () => {
  const languageOf = (language: string, task: 'transcribe' | 'translate') =>
    (
      JSON.parse(formatTranscript('verbose_json', { ...transcript, language }, { task, times: [] })) as {
        language: string;
      }
    ).language;
  const codes = ['de', 'bn', 'tl', 'my', 'mi', 'nn'];
  expect(codes.map((code) => languageOf(code, 'transcribe'))).toEqual([
    'german',
    'bengali',
    'tagalog',
    'myanmar',
    'maori',
    'nynorsk',
  ]);
  expect(languageOf('de', 'translate')).toBe('english');
});

test('times of words, of segments, or of both', () => {
  const words = [{ word: 'One', start: 0.02, end: 0.339_999 }];
  const timed = { ...transcript, segments: [{ ...segment(0, 0, 2.5, ' One.'), words }] };
  const read = (...times: Times) =>
    JSON.parse(whole('verbose_json', timed, times)) as { words?: unknown; segments?: unknown };
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
  expect(deltaEvent('')).toBe('');
});

test("a server's answer keeps its own fields, and has every format", () => {
  const answer = {
    text: 'Hi.',
    segments: [
      { start: -1.5, end: 1.5, text: 'Hi.' },
      { start: 1e300, end: 1e308, text: 'So\r\n \n1' },
    ],
    logprobs: [{ token: 'Hi' }],
  };
  expect(JSON.parse(whole('json', { answer }))).toEqual(answer);
  expect(JSON.parse(whole('verbose_json', { answer }))).toEqual(answer);
  expect(whole('text', { answer })).toBe('Hi.\n');
  expect(whole('vtt', { answer })).toBe(
    'WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nHi.\n\n99:59:59.999 --> 99:59:59.999\nSo\n1\n\n',
  );
});

test('the events of a stream', () => {
  const read = (event: string) => JSON.parse(event.slice('data: '.length)) as Record<string, unknown>;
  expect(read(deltaEvent(' Three.'))).toEqual({ type: 'transcript.text.delta', delta: ' Three.' });
  const usage = { promptTokens: 50, cachedTokens: 0, completionTokens: 4 };
  expect(read(doneEvent(textOf(transcript), usage))).toEqual({
    type: 'transcript.text.done',
    text: 'One --> two. Three.',
    usage: {
      type: 'tokens',
      input_tokens: 50,
      input_token_details: { audio_tokens: 50, text_tokens: 0 },
      output_tokens: 4,
      total_tokens: 54,
    },
  });
});

test('defaults, and lists under every name that clients give them', () => {
  expect(parseFields([['model', 'm']])).toEqual({
    format: 'json',
    job: { times: [], stream: false, others: [] },
  });
  for (const name of ['timestamp_granularities[]', 'timestamp_granularities[0]', 'timestamp_granularities']) {
    const fields: [string, string][] = [
      [name, 'word'],
      [name, 'segment'],
      ['response_format', 'verbose_json'],
    ];
    expect(parseFields(fields).job.times).toEqual(['segment', 'word']);
  }
  for (const format of ['srt', 'vtt', 'verbose_json'])
    expect(parseFields([['response_format', format]]).job.times).toEqual(['segment']);
  expect(contentTypeOf('vtt')).toBe('text/vtt; charset=utf-8');
  const fields: [string, string][] = [
    ['language', 'EN'],
    ['temperature', '.5'],
    ['include[0]', 'logprobs'],
  ];
  expect(parseFields(fields).job).toMatchObject({
    language: 'en',
    temperature: 0.5,
    others: [['include[]', 'logprobs']],
  });
});

test('every number from 0 to 1 is a temperature, as JavaScript and Python write it', () => {
  const numbers = Array.from({ length: 200 }, () => Math.random() ** (1 + 40 * Math.random()));
  for (const number of [0, 1, 0.1 + 0.2, 1e-7, 5e-324, ...numbers])
    expect(parseFields([['temperature', `${number}`]]).job.temperature).toBe(number);
  for (const text of ['0.0', '1.0', '1e-07', '.5', '1E-3'])
    expect(parseFields([['temperature', text]]).job.temperature).toBe(Number(text));
});

test.for([
  [[['temperature', '2']], 'temperature', 'invalid_value'],
  [[['temperature', 'NaN']], 'temperature', 'invalid_value'],
  [[['temperature', '']], 'temperature', 'invalid_value'],
  [[['temperature', ' ']], 'temperature', 'invalid_value'],
  [[['temperature', '0x1']], 'temperature', 'invalid_value'],
  [[['temperature', '-1e-7']], 'temperature', 'invalid_value'],
  [[['temperature', '1.0000000000000003']], 'temperature', 'invalid_value'],
  [[['prompt', 'x'.repeat(10_001)]], 'prompt', 'invalid_value'],
  [
    [
      ['stream', 'true'],
      ['response_format', 'srt'],
    ],
    'stream',
    'invalid_parameter_combination',
  ],
  [[['timestamp_granularities[]', 'segment']], 'timestamp_granularities[]', 'invalid_parameter_combination'],
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
