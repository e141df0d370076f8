import type { ConformanceCase, Fact } from './conformance-case.ts';
import { badRequest, modelNotFound, says } from './facts.ts';

/** No voice is in the default catalog: what is answered before one is needed. */

const path = '/v1/audio/speech';
const of = (name: string, json: Record<string, unknown>, ...facts: Fact[]): ConformanceCase => ({
  name: `speech: ${name}`,
  request: { path, json: { model: 'silver-lark-4', input: 'Hi', voice: 'heart', ...json } },
  facts,
});
const bad = (name: string, json: Record<string, unknown>, param: string, code?: string | null) =>
  of(name, json, badRequest(param, code));

export const speechCases: ConformanceCase[] = [
  of('a model that there is not', {}, modelNotFound, says('extendCatalog(defaultCatalog, voices)')),
  of('a model of another kind', { model: 'jade-mole-4' }, modelNotFound),
  bad('no input', { input: null }, 'input'),
  bad('an empty input', { input: '' }, 'input'),
  bad('an input that is too long', { input: 'a'.repeat(20_001) }, 'input'),
  bad('a voice that is a number', { voice: 1 }, 'voice'),
  bad('an unknown format', { response_format: 'ogg' }, 'response_format'),
  bad('a speed of 0', { speed: 0 }, 'speed'),
  bad('a speed of 5', { speed: 5 }, 'speed'),
  bad('an unknown stream format', { stream_format: 'text' }, 'stream_format'),
];
