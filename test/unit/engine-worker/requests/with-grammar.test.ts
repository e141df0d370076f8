import { afterEach, expect, test, vi } from 'vitest';

import { RestartableHelper } from '../../../../src/engine-kit/restartable-helper.ts';
import { grammarWorker } from '../../../../src/grammar/grammar-worker.ts';
import { withGrammar } from '../../../../src/engine-worker/requests/with-grammar.ts';
import type { Engine } from '../../../../src/engine-kit/engine.ts';
import type { ChatJob } from '../../../../src/jobs/chat.ts';

afterEach(() => vi.restoreAllMocks());

const engine = { takesSchemas: false } as unknown as Engine<'chat'>;
const { signal } = new AbortController();

const jobWith = (fields: { client?: string; resume?: ChatJob['resume'] | undefined }) =>
  ({ constraint: { kind: 'json_schema', schema: '{"const":[]}' }, ...fields }) as unknown as ChatJob;

test('a schema continues the text of a reply, unless it is only for what follows', async () => {
  // The engine worker's thread serves all replies: another one compiles.
  const call = vi
    .spyOn(RestartableHelper.prototype, 'call')
    .mockImplementation((run) => run(grammarWorker as never));
  const compiled = async (resume: ChatJob['resume']) =>
    (await withGrammar(engine, jobWith({ resume }), signal)).job.constraint;
  await expect(compiled({ text: 'So: ', tokens: 0 })).rejects.toThrow('continue_final_message');
  const whole = await compiled(undefined);
  expect(whole).toMatchObject({ kind: 'grammar' });
  expect(await compiled({ text: 'So: ', tokens: 0, precedesConstraint: true })).toEqual(whole);
  expect(await compiled({ text: '[', tokens: 0 })).not.toEqual(whole);
  expect(call).toHaveBeenCalledTimes(4);
});

test('a schema that compiles for long delays those of its client alone, until it is refused', async () => {
  let endFirst: () => void = () => undefined;
  const timeout = new Promise<null>((resolve) => (endFirst = () => resolve(null)));
  const compile = vi
    .spyOn(RestartableHelper.prototype, 'call')
    .mockImplementationOnce(async (_, { toError }) => {
      throw toError(await timeout);
    })
    .mockImplementation((run) => run(grammarWorker as never));
  const slow = withGrammar(engine, jobWith({ client: 'a' }), signal);
  const next = withGrammar(engine, jobWith({ client: 'a' }), signal);
  expect(await withGrammar(engine, jobWith({ client: 'b' }), signal)).toMatchObject({ job: { client: 'b' } });
  expect(compile).toHaveBeenCalledTimes(2);
  endFirst();
  await expect(slow).rejects.toThrow('more than 10 s');
  expect(await next).toMatchObject({ job: { client: 'a', constraint: { kind: 'grammar' } } });
});
