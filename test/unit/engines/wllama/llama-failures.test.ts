import { expect, test } from 'vitest';

import { RequestRejectedError } from '../../../../src/llama/internals/server-calls.ts';
import { asJobFailure } from '../../../../src/engines/wllama/llama-failures.ts';
import { chatJob } from '../../../support/chat-job.ts';

const job = chatJob({ constraint: { kind: 'json_schema', schema: '{}' } });

test.each([
  ['failed to parse grammar', 400, 'unsupported_value', /Simplify the schema/],
  ['not understood', 400, 'unsupported_value', /Simplify the schema/],
  ['Context size has been exceeded.', 500, 'engine_failed', /context that they share/],
  ['no message', 500, 'engine_failed', /failed on this request/],
])('with a schema, "%s" is told for what it is', (message, status, code, text) => {
  const failure = asJobFailure(new RequestRejectedError(message), job);
  expect(failure.wire).toMatchObject({ status, code });
  expect(failure.message).toMatch(text);
});
