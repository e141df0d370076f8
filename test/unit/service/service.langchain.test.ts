import { ContextOverflowError } from '@langchain/core/errors';
import { ChatOpenAI } from '@langchain/openai';
import { expect, test } from 'vitest';
import { refuseOversized } from '../../../src/chat-template/prompt-bounds.ts';
import { contextLengthExceeded } from '../../../src/base/errors/engine-errors.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import { fakeService } from '../../support/fake-service.ts';

function refusedByLength(): unknown {
  try {
    return refuseOversized({ prompt: 'x'.repeat(1000) }, 8);
  } catch (error) {
    return error;
  }
}

test.each([
  ['counted', contextLengthExceeded(9000, 8192)],
  ['measured', refusedByLength()],
])('LangChain knows a prompt that is too long when it is %s', async (_, refuse) => {
  const { service, key } = await fakeService({ engine: new FakeEngine({ refuse }) });
  const model = new ChatOpenAI({
    model: 'amber-phoenix-4',
    apiKey: key,
    maxRetries: 0,
    configuration: {
      baseURL: 'https://site.example/v1',
      fetch: (url, init) => service(new Request(url, init)),
    },
  });
  await expect(model.invoke('Hi.')).rejects.toBeInstanceOf(ContextOverflowError);
  await expect(model.stream('Hi.')).rejects.toBeInstanceOf(ContextOverflowError);
});
