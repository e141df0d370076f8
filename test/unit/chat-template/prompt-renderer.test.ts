import { expose, proxy } from 'comlink';
import { beforeEach, expect, test, vi } from 'vitest';

import { type PromptFormat, templateWorker } from '../../../src/chat-template/template-worker.ts';
import { PromptRenderer, templateFault } from '../../../src/chat-template/prompt-renderer.ts';
import { keepLock } from '../../../src/protocol/locks.ts';
import { createDeferred } from '../../../src/base/async.ts';
import { FakeLocks } from '../../support/fake-locks.ts';
import { chatJob } from '../../support/chat-job.ts';
import { never } from '../../support/never.ts';

const SOURCE = '{{ messages[0].content }}';
const job = chatJob();

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));

/** Puts a worker into the place of the browser's: it starts when `started` resolves, and parses when `parsed` does. */
function stubWorker({ started, parsed }: Record<'started' | 'parsed', Promise<void>>) {
  const { manager: locks } = new FakeLocks();
  const isParsing = vi.fn();
  const template = {
    ...templateWorker,
    async load(format: PromptFormat) {
      isParsing();
      await parsed;
      return templateWorker.load(format);
    },
  };
  const host = {
    async helper(_: string, lock: string) {
      await started;
      await keepLock(locks, lock);
      return proxy(template);
    },
  };
  vi.stubGlobal('Worker', function SlowWorker() {
    const { port1, port2 } = new MessageChannel();
    expose(host, port2);
    return Object.assign(port1, { terminate: () => port1.close() });
  });
  vi.stubGlobal('navigator', { locks });
  vi.stubGlobal('location', new URL('https://site.example/worker.js'));
  vi.stubGlobal('addEventListener', () => undefined);
  return isParsing;
}

/** A renderer whose worker starts when `started` resolves, and parses its template when `parsed` does. */
function slowRenderer() {
  const [started, parsed] = [createDeferred(), createDeferred()];
  const isParsing = stubWorker({ started: started.promise, parsed: parsed.promise });
  const renderer = new PromptRenderer({
    template: SOURCE,
    tokens: { bos: null, eos: null, reserved: [] },
    addsBos: false,
  });
  return {
    started,
    parsed,
    isParsing,
    open: () => renderer.open(job, null, never),
    end: () => renderer.end(),
  };
}

test('a worker that does not start in time is no fault of the template, and another is started', async () => {
  const { started, parsed, open, end } = slowRenderer();
  parsed.resolve();
  const message = expect.stringContaining('did not start within 20 s') as string;
  const late = expect(open()).rejects.toMatchObject({ wire: { status: 500, message } });
  await vi.advanceTimersByTimeAsync(20_000);
  await late;
  started.resolve();
  expect(await open()).toMatchObject({ prompt: 'Hello' });
  end();
});

test('a template that is not parsed in time is refused', async () => {
  const { started, isParsing, open, end } = slowRenderer();
  started.resolve();
  const message = expect.stringContaining('not parsed within 20 s') as string;
  const refused = expect(open()).rejects.toMatchObject({ wire: { status: 400, message } });
  await vi.waitFor(() => expect(isParsing).toHaveBeenCalled());
  await vi.advanceTimersByTimeAsync(20_000);
  await refused;
  end();
});

test('the start of a worker takes none of the time for its template', async () => {
  const { started, parsed, isParsing, open, end } = slowRenderer();
  const opened = open();
  await vi.advanceTimersByTimeAsync(15_000);
  started.resolve();
  await vi.waitFor(() => expect(isParsing).toHaveBeenCalled());
  await vi.advanceTimersByTimeAsync(15_000);
  parsed.resolve();
  expect(await opened).toMatchObject({ prompt: 'Hello' });
  end();
});

test.each([
  ['shows the message', SOURCE, undefined],
  ['has no message', "{{ 'Hi' }}", 'has a chat template that cannot be used: it does not show the messages'],
  ['refuses', "{{ raise_exception('no users') }}", 'has a chat template that cannot be used: no users'],
])('a model to be added whose template %s', async (_, source, fault) => {
  stubWorker({ started: Promise.resolve(), parsed: Promise.resolve() });
  expect(await templateFault(source)).toBe(fault);
});
