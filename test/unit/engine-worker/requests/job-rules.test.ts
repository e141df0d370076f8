import { expect, test, vi } from 'vitest';
import { RestartableHelper } from '../../../../src/engine-kit/restartable-helper.ts';
import { grammarWorker } from '../../../../src/grammar/grammar-worker.ts';
import { jobRules } from '../../../../src/engine-worker/requests/job-rules.ts';
import type { Engine } from '../../../../src/engine-kit/engine.ts';
import type { ChatJob } from '../../../../src/jobs/chat.ts';

test('a schema continues the text of a reply, unless it is only for what follows', async () => {
  const engine = { takesSchemas: false } as unknown as Engine<'chat'>;
  // The engine worker's thread serves all replies: another one compiles.
  const call = vi
    .spyOn(RestartableHelper.prototype, 'call')
    .mockImplementation((run) => run(grammarWorker as never));
  const { signal } = new AbortController();
  const compiled = async (resume: ChatJob['resume']) => {
    const constraint = { kind: 'json_schema', schema: '{"const":[]}' } as const;
    const job = { kind: 'chat', model: 'm', constraint, resume } as unknown as ChatJob;
    return (await jobRules('chat').compile?.(engine, job, signal))?.job.constraint;
  };
  await expect(compiled({ text: 'So: ', tokens: 0 })).rejects.toThrow('continue_final_message');
  const whole = await compiled(undefined);
  expect(whole).toMatchObject({ kind: 'grammar' });
  expect(await compiled({ text: 'So: ', tokens: 0, precedesConstraint: true })).toEqual(whole);
  expect(await compiled({ text: '[', tokens: 0 })).not.toEqual(whole);
  expect(call).toHaveBeenCalledTimes(4);
});
