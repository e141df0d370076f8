import { expect, test } from 'vitest';

import { RequestRejectedError } from '../../../../src/engines/llama-cpp/internals/server-calls.ts';
import { asJobFailure } from '../../../../src/engines/llama-cpp/llama-failures.ts';

const job = {
  kind: 'chat',
  model: 'm',
  input: { messages: [] },
  sampling: { temperature: 0, topP: 1 },
  constraint: { kind: 'json_schema', schema: {} },
} as const;

test.each([
  ['failed to parse grammar', { status: 400, code: 'unsupported_value', param: 'response_format' }],
  ['not understood', { status: 400, code: 'unsupported_value', param: 'response_format' }],
  [
    'Context size has been exceeded.',
    { status: 500, code: 'engine_failed', message: /context that they share/ },
  ],
  ['no message', { status: 500, code: 'engine_failed' }],
])('with a schema, "%s" is told for what it is', (message, { message: text = /./, ...wire }) => {
  const failure = asJobFailure(new RequestRejectedError(message), job);
  expect(failure.wire).toMatchObject(wire);
  expect(failure.message).toMatch(text);
});
