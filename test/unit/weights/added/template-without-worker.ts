import { templateWorker } from '../../../../src/chat-template/template-worker.ts';
import { chatJob } from '../../../support/chat-job.ts';

/** Stands for the function of `prompt-renderer.ts`: what its worker does, on Node's own thread. */
export async function templateFault(template: string): Promise<string | undefined> {
  const fault = await templateWorker.load({
    template,
    tokens: { bos: null, eos: null, reserved: [] },
    addsBos: false,
  });
  const opened = await templateWorker.open(chatJob(), null);
  const why = fault ?? opened.error?.message.split(': ').slice(1).join(': ');
  return why === undefined ? undefined : `has a chat template that cannot be used: ${why}`;
}
