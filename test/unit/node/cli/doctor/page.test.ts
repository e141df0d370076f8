import { expect, test } from 'vitest';

import { examinePolicy, policiesOf } from '../../../../../src/node/cli/doctor/page.ts';

const STRICT =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; worker-src 'self'; require-trusted-types-for 'script'; trusted-types localtext";
const models = new URL('https://weights.example/models/');
const fixes = (policy: string, elsewhere: URL | null = null): (string | undefined)[] =>
  examinePolicy(policy, 'The page', elsewhere).map(({ fix }) => fix);

test('the strict policy is enough: no blob: worker is needed', () => {
  expect(fixes(STRICT)).toEqual([]);
  expect(fixes("img-src 'self'")).toEqual([]);
});

test.each([
  ["'wasm-unsafe-eval'", '', "Add 'wasm-unsafe-eval' to script-src."],
  ["connect-src 'self'", "connect-src 'none'", "Add 'self' to connect-src."],
  ["worker-src 'self'", 'worker-src blob:', "Add 'self' to worker-src."],
  ['trusted-types localtext', 'trusted-types dompurify', 'Add localtext to trusted-types.'],
])('without %s', (part, instead, fix) => {
  expect(fixes(STRICT.replace(part, instead))).toEqual([fix]);
});

test('weights of another origin need a place in connect-src', () => {
  expect(fixes(STRICT, models)).toEqual(['Add https://weights.example to connect-src.']);
  for (const source of ['https://weights.example', 'https:', '*', 'https://*.example', 'weights.example'])
    expect(fixes(STRICT.replace("connect-src 'self'", `connect-src 'self' ${source}`), models)).toEqual([]);
});

test('policies are found in the header and in the page', () => {
  const html = `<meta http-equiv="Content-Security-Policy" content="worker-src &#39;none&#39;"><meta charset="utf-8">`;
  const headers = new Headers({ 'content-security-policy': "img-src 'self', object-src 'none'" });
  expect(policiesOf(headers, html).map((policy) => policy.trim())).toEqual([
    "img-src 'self'",
    "object-src 'none'",
    "worker-src 'none'",
  ]);
  expect(policiesOf(new Headers(), '<p>a page')).toEqual([]);
});
