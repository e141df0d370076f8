import type { CaseRequest, ConformanceCase, Fact } from './conformance-case.ts';
import { badRequest, modelNotFound } from './facts.ts';

/** No speech model is in the default catalog: what is answered before one is needed. */

type Part = [name: string, value: string, fileName?: string];

/** A form as a client sends it. */
const form = (...parts: Part[]): Pick<CaseRequest, 'headers' | 'body'> => {
  const lines = parts.flatMap(([name, value, fileName]) => [
    '--limit',
    `content-disposition: form-data; name="${name}"${fileName === undefined ? '' : `; filename="${fileName}"`}`,
    ...(fileName === undefined ? [] : ['content-type: audio/wav']),
    '',
    value,
  ]);
  return {
    headers: { 'content-type': 'multipart/form-data; boundary=limit' },
    body: [...lines, '--limit--', ''].join('\r\n'),
  };
};

const file: Part = ['file', 'RIFF', 'a.wav'];
const model: Part = ['model', 'coral-wren-4'];

const of = (name: string, request: Omit<CaseRequest, 'path'>, ...facts: Fact[]): ConformanceCase[] =>
  ['transcriptions', 'translations'].map((path) => ({
    name: `${path}: ${name}`,
    request: { ...request, path: `/v1/audio/${path}` },
    facts,
  }));

export const transcriptionCases: ConformanceCase[] = [
  ...of('JSON in place of a form', { json: { model: 'coral-wren-4' } }, badRequest(null)),
  ...of(
    'a form without its end',
    { ...form(file, model), body: '--limit\r\ncontent-disposition: form-data; name="model"' },
    badRequest(null),
  ),
  ...of('no file', form(model), badRequest('file', 'missing_required_parameter')),
  ...of('a file that is text', form(model, ['file', 'RIFF']), badRequest('file')),
  ...of('no model', form(file), badRequest('model', 'missing_required_parameter')),
  ...of('a model that there is not', form(file, model), modelNotFound),
  ...of('a model of another kind', form(file, ['model', 'jade-mole-4']), modelNotFound),
  ...of('more than 100 parts', form(file, ...Array.from({ length: 101 }, () => model)), badRequest(null)),
  ...['language', 'response_format', 'temperature', 'timestamp_granularities[]', 'stream'].flatMap((field) =>
    of(`an unknown ${field}`, form(file, model, [field, 'nonesuch']), badRequest(field, 'invalid_value')),
  ),
];
