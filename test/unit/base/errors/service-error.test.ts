import { expect, test } from 'vitest';

import {
  contextLengthExceeded,
  isContextLengthError,
  toWireError,
} from '../../../../src/base/errors/engine-errors.ts';
import { requestError, ServiceError } from '../../../../src/base/errors/service-error.ts';
import { UpstreamError } from '../../../../src/routing/upstream/upstream-failures.ts';

/** Evaluates the modules again, as WebKit does for a chunk that imports a worker's script. */
async function again() {
  const path = '../../../../src/base/errors/service-error.ts?again';
  return (await import(path)) as typeof import('../../../../src/base/errors/service-error.ts');
}

test('an error of another copy of the class is one all the same, and is shown', async () => {
  const copy = await again();
  expect(copy.ServiceError).not.toBe(ServiceError);
  const error: unknown = copy.requestError(400, 'Not so.', 'invalid_value', 'file');
  expect(error instanceof ServiceError).toBe(true);
  expect(toWireError(error)).toMatchObject({ status: 400, code: 'invalid_value', param: 'file' });
});

test('other errors are none, and a subclass has only its own', () => {
  expect(new Error('x') instanceof ServiceError).toBe(false);
  expect({ name: 'ServiceError', wire: {} } instanceof ServiceError).toBe(false);
  expect(requestError(400, 'x') instanceof UpstreamError).toBe(false);
  expect(new UpstreamError(null, 'x') instanceof UpstreamError).toBe(true);
  expect(isContextLengthError(contextLengthExceeded(9, 4))).toBe(true);
  expect(isContextLengthError(requestError(400, 'x', 'context_length_exceeded'))).toBe(false);
});

test('a text of a caller is shown without the characters that a page or a terminal obeys', () => {
  const { wire, message } = requestError(
    400,
    'a\u202eb\u0000c\nd\u200be\u2028f\ud800g\u{e0041} 👩‍💻',
    null,
    'x\u2066',
  );
  expect(wire.message).toBe('a\\u202eb\\u0000c\\u000ad\\u200be\\u2028f\\ud800g\\u{e0041} 👩‍💻');
  expect(message).toBe(wire.message);
  expect(wire.param).toBe('x\\u2066');
  expect(new ServiceError(wire).wire).toEqual(wire);
});
