import { expect } from 'vitest';
import { ALL_ENDPOINTS, documentedPath } from '../../src/service/endpoints.ts';
import type { CaseRequest, ConformanceCase, Fact } from './conformance-case.ts';
import {
  badRequest,
  body,
  check,
  emptyBody,
  error,
  header,
  modelNotFound,
  status,
  unauthorized,
} from './facts.ts';

const IDS = ['crimson-falcon-4', 'indigo-owl-4', 'amber-phoenix-4', 'jade-mole-4'];
const chat = '/v1/chat/completions';
const json = { model: 'amber-phoenix-4', messages: [{ role: 'user', content: 'Hi.' }], max_tokens: 1 };

const of = (name: string, request: CaseRequest, ...facts: Fact[]): ConformanceCase => ({
  name,
  request,
  facts,
});
const raw = (name: string, content: CaseRequest['body'], ...facts: Fact[]) =>
  of(`body: ${name}`, { path: chat, body: content ?? '' }, ...facts);
const wrongMethod = (name: string, request: CaseRequest, allow: string) =>
  of(`method: ${name}`, request, error(405, 'invalid_request_error', null, null), header('allow', allow));
const allows =
  (method: string): Fact =>
  ({ headers }) =>
    expect(headers['allow']?.split(', ')).toContain(method);
const requiresField: Fact = check((answer) => {
  expect(answer).toMatchObject({ error: { code: 'missing_required_parameter', param: expect.any(String) } });
});
const notFound = error(404, 'invalid_request_error', null, null);

const keys: ConformanceCase[] = [
  of('key: none comes before a bad body', { path: chat, body: '{', key: 'none' }, unauthorized),
  of('key: none comes before an unknown path', { path: '/v1/nothing', key: 'none' }, unauthorized),
  of('key: none comes before a wrong method', { method: 'DELETE', path: chat, key: 'none' }, unauthorized),
  of('key: empty', { path: '/v1/models', key: { authorization: '' } }, unauthorized),
  of('key: another scheme', { path: '/v1/models', key: { authorization: 'Basic bHQ6eA==' } }, unauthorized),
  of('key: without a scheme', { path: '/v1/models', key: { authorization: 'lt_abc' } }, unauthorized),
  of('key: mistyped', { path: '/v1/models', key: { authorization: 'Bearer lt_abc' } }, unauthorized),
  of(
    'key: of another service',
    { path: '/v1/models', key: { authorization: 'Bearer sk-abcdefgh' } },
    unauthorized,
  ),
  of(
    'key: very long',
    { path: '/v1/models', key: { authorization: `Bearer lt_${'a'.repeat(8000)}` } },
    unauthorized,
  ),
  of('key: revoked', { path: '/v1/models', key: 'revoked' }, unauthorized),
  of('key: revoked, for chat', { path: chat, json, key: 'revoked' }, unauthorized),
  of('key: expired', { path: '/v1/models', key: 'expired' }, unauthorized),
  of('key: of another model', { path: chat, json, key: 'only-indigo-owl-4' }, modelNotFound),
  of(
    'key: of this model',
    { path: chat, json: { ...json, model: 'indigo-owl-4' }, key: 'only-indigo-owl-4' },
    status(200),
  ),
  of(
    'key: lists its models alone',
    { path: '/v1/models', key: 'only-indigo-owl-4' },
    check((list) => {
      expect((list['data'] as { id: string }[]).map(({ id }) => id)).toEqual(['indigo-owl-4']);
    }),
  ),
];

const models: ConformanceCase[] = [
  of(
    'models: the four, in order, of one owner',
    { path: '/v1/models' },
    status(200),
    header('content-type', 'application/json'),
    check((list) => {
      expect(list['object']).toBe('list');
      const data = list['data'] as { id: string; object: string; created: number; owned_by: string }[];
      expect(data.slice(0, 4).map(({ id }) => id)).toEqual(IDS);
      expect(new Set(data.slice(0, 4).map((model) => model.owned_by)).size).toBe(1);
      for (const model of data) {
        expect(Object.keys(model)).toEqual(
          expect.arrayContaining(['created', 'id', 'object', 'owned_by', 'capabilities']),
        );
        expect(model.object).toBe('model');
        expect(Number.isInteger(model.created)).toBe(true);
      }
    }),
  ),
  of('models: with a query', { path: '/v1/models?limit=2' }, status(200)),
  of(
    'models: one',
    { path: '/v1/models/jade-mole-4' },
    status(200),
    body({ id: 'jade-mole-4', object: 'model' }),
  ),
  of('models: one, with a slash at the end', { path: '/v1/models/jade-mole-4/' }, status(200)),
  of('models: one that there is not', { path: '/v1/models/gpt-99' }, modelNotFound),
  of('models: one with slashes', { path: '/v1/models/org/name%20x' }, modelNotFound),
  of('models: one with a broken escape', { path: '/v1/models/%E0%A4%A' }, modelNotFound),
  of('models: HEAD', { method: 'HEAD', path: '/v1/models' }, status(200), emptyBody),
  of(
    'models: HEAD of one that there is not',
    { method: 'HEAD', path: '/v1/models/none' },
    status(404),
    emptyBody,
  ),
];

/** What holds for every endpoint. */
const all: ConformanceCase[] = ALL_ENDPOINTS.flatMap(([name, { method, path: pattern, sample }]) => {
  const path = documentedPath(pattern).replace('{id}', 'x');
  const valid = sample ? [{ path, json: sample }] : [];
  return [
    of(
      `${name}: without a key`,
      { method, path, ...(method === 'POST' && { body: '{' }), key: 'none' },
      unauthorized,
    ),
    of(`${name}: another method`, { method: 'PATCH', path }, status(405), allows(method)),
    of(`${name}: OPTIONS`, { method: 'OPTIONS', path }, status(204), emptyBody, allows(method)),
    ...valid.map((request) => of(`${name}: its smallest body`, request, status(200))),
    ...valid.map(() => of(`${name}: a body without fields`, { path, json: {} }, status(400), requiresField)),
  ];
});

const routes: ConformanceCase[] = [
  of('path: unknown', { path: '/v1/nothing' }, notFound),
  of('path: /v1', { path: '/v1' }, notFound),
  of('path: /v1/', { path: '/v1/' }, notFound),
  of('path: unknown, posted to', { path: '/v1/chat', json }, notFound),
  of('path: a prototype key', { path: '/v1/__proto__' }, notFound),
  of('path: unknown comes before a bad body', { path: '/v1/nothing', body: '{' }, notFound),
  wrongMethod('GET chat', { path: chat }, 'POST, OPTIONS'),
  wrongMethod('POST models', { path: '/v1/models', json: {} }, 'GET, HEAD, OPTIONS'),
  wrongMethod('constructor models', { method: 'constructor', path: '/v1/models' }, 'GET, HEAD, OPTIONS'),
  of('method: wrong comes before a bad body', { method: 'PUT', path: chat, body: '{' }, status(405)),
  of(
    'method: HEAD chat',
    { method: 'HEAD', path: chat },
    status(405),
    emptyBody,
    header('allow', 'POST, OPTIONS'),
  ),
];

const bodies: ConformanceCase[] = [
  raw('empty', '', badRequest(null)),
  raw('white space', ' \n', badRequest(null)),
  raw('cut off', '{"model": "amber-', badRequest(null)),
  raw('a form', 'model=amber-phoenix-4', badRequest(null)),
  raw('an array', '[]', badRequest(null)),
  raw('null', 'null', badRequest(null)),
  raw('a string', '"hello"', badRequest(null)),
  raw('NaN', JSON.stringify(json).replace('"max_tokens":1', '"max_tokens":NaN'), badRequest(null)),
  raw(
    'a number past every number',
    JSON.stringify(json).replace('"max_tokens":1', '"max_tokens":1e999'),
    badRequest('max_tokens'),
  ),
  raw(
    'a temperature past every number',
    JSON.stringify(json).replace('"max_tokens":1', '"temperature":1e999'),
    badRequest('temperature'),
  ),
  raw('nested without end', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, badRequest(null)),
  raw(
    'a message nested without end',
    `{"model":"amber-phoenix-4","messages":${'['.repeat(50_000)}${']'.repeat(50_000)}}`,
    badRequest('messages'),
  ),
  raw('not UTF-8', [0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d], badRequest(null)),
  raw('UTF-16', [0xff, 0xfe, 0x7b, 0, 0x7d, 0], badRequest(null)),
  raw(
    'UTF-8 with a byte order mark',
    [...new TextEncoder().encode(`\uFEFF${JSON.stringify(json)}`)],
    status(200),
  ),
  raw('without a content type', [...new TextEncoder().encode(JSON.stringify(json))], status(200)),
  of(
    'body: as plain text',
    { path: chat, body: JSON.stringify(json), headers: { 'content-type': 'text/plain' } },
    status(200),
  ),
  raw(
    'larger than the limit',
    { byte: 0x20, length: 33 * 1024 * 1024 },
    error(413, 'invalid_request_error', null, null),
  ),
  of(
    'body: larger than the limit, and not UTF-8 either',
    { path: '/v1/embeddings', body: { byte: 0xff, length: 33 * 1024 * 1024 } },
    error(413, 'invalid_request_error', null, null),
  ),
  of(
    'request id: echoed',
    { path: '/v1/models', headers: { 'x-request-id': 'mine-123' } },
    header('x-request-id', 'mine-123'),
  ),
  of(
    'request id: echoed with an error',
    { path: '/v1/models', key: 'none', headers: { 'x-request-id': 'mine-124' } },
    header('x-request-id', 'mine-124'),
  ),
  of(
    'request id: replaced when it is not sane',
    { path: '/v1/models', headers: { 'x-request-id': 'a b<script>' } },
    header('x-request-id', /^[\w-]{8,}$/),
  ),
];

export const serviceCases = [...all, ...keys, ...models, ...routes, ...bodies];
