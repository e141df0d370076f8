import { transfer } from 'comlink';

import type { BuiltInVariant } from './rules.ts';
import {
  contextLengthExceeded,
  engineCrashed,
  isContextLengthError,
  serverError,
  ServiceError,
  abortable,
  Channel,
  withTimeout,
} from '#base';
import type { PageModelEvent, PageModel } from '#protocol';
import { imagesOf, type ChatEvent, type ChatImage, type ChatJob } from '#jobs';
import type { Engine, LoadEngine } from '#engine-kit';
import { builtInFault } from './built-in-fault.ts';
import { cannot, refuseImages, type SessionAbilities, toBuiltInRequest } from './built-in-request.ts';

/** Time limit for the browser to count a prompt, which may load the model, or to send the next part of a reply. */
const SILENCE_MS = 60_000;

export const loadBuiltIn: LoadEngine<BuiltInVariant, 'chat'> = async (variant, { pageModel, signal }) => {
  const fault = await abortable(builtInFault(pageModel, variant), signal);
  if (!pageModel || fault !== undefined)
    throw serverError('model_unavailable', `${variant.name} ${fault}. Use another model.`);
  const { languages = [] } = variant;
  const { samples, images } = await pageModel.availability(languages);
  return builtInEngine(pageModel, { ...variant, languages, samples, images });
};

type BuiltInAbilities = SessionAbilities & Pick<BuiltInVariant, 'name' | 'contextLength'>;

/** Runs chats in the page's Prompt API sessions. The browser does not name its model. */
function builtInEngine(page: PageModel, session: BuiltInAbilities): Engine<'chat'> {
  const fingerprint = `${session.name}-${browser()}`;
  const traits = { contextLength: session.contextLength, thinks: false, vision: session.images };

  const toAccepted = (promptTokens: number): ChatEvent => ({
    type: 'accepted',
    accepted: { promptTokens, fingerprint },
  });

  function failure(
    { name, message, counts }: Extract<PageModelEvent, { type: 'failed' }>,
    job: ChatJob,
  ): Error {
    if (name === 'QuotaExceededError') {
      const { contextLength } = traits;
      return contextLengthExceeded(counts?.requested ?? contextLength, counts?.quota ?? contextLength);
    }
    // The schema is the only part of a request that the API may not support.
    if (job.constraint && ['NotSupportedError', 'SyntaxError', 'TypeError'].includes(name))
      return cannot('response_format', "has a schema that the browser's model cannot follow");
    const withheld = "The browser withheld its model's reply. Change the messages, or use another model.";
    if (name === 'NotReadableError') return serverError('engine_failed', withheld);
    return new Error(`${name}: ${message}`);
  }

  return {
    kind: 'chat',
    slots: 1,
    takesSchemas: true,
    fingerprint,
    traits,
    async *run(job, signal, onPrefill) {
      signal.throwIfAborted();
      const began = performance.now();
      refuseImages(job, session);
      const images = await readImages(job, signal);
      const request = toBuiltInRequest(job, session, images);
      const { port1: port, port2 } = new MessageChannel();
      const events = new Channel<PageModelEvent>();
      port.onmessage = ({ data }: MessageEvent<PageModelEvent>) => events.push(data);
      const bitmaps = transfer(request, [...images.values()]);
      page.prompt(bitmaps, transfer(port2, [port2])).catch((error: unknown) => events.fail(error));
      const next = async (): Promise<Exclude<PageModelEvent, { type: 'failed' }>> => {
        const event = await abortable(withTimeout(events.take(), SILENCE_MS), signal);
        if (!event) throw new Error(`the browser's model was silent for ${SILENCE_MS} ms`);
        if (event.type === 'failed') throw failure(event, job);
        return event;
      };
      let accepted = false;
      let promptTokens = 0;
      let prefillMs = 0;
      try {
        for (;;) {
          const event = await next();
          if (event.type === 'counted') {
            ({ promptTokens, contextLength: traits.contextLength } = event);
            if (!job.countOnly && promptTokens >= traits.contextLength)
              throw contextLengthExceeded(promptTokens, traits.contextLength);
            onPrefill?.();
            // Do not accept yet: the browser rejects a schema only with the first part of the reply.
            if (job.countOnly) return yield toAccepted(promptTokens);
            continue;
          }
          prefillMs ||= performance.now() - began;
          if (!accepted) yield toAccepted(promptTokens);
          accepted = true;
          if (event.type === 'delta') {
            yield { type: 'delta', delta: { text: event.text, tokens: event.tokens } };
            continue;
          }
          const { finishReason, completionTokens } = event;
          const timings = { prefillMs, decodeMs: performance.now() - began - prefillMs };
          const usage = { promptTokens, cachedTokens: 0, completionTokens };
          return yield { type: 'done', finishReason, usage, timings };
        }
      } catch (error) {
        signal.throwIfAborted();
        if (isContextLengthError(error)) throw error;
        const { wire } = error instanceof ServiceError ? error : engineCrashed(error);
        // Before the reply has begun, another variant may answer.
        throw new ServiceError({ ...wire, ...(!accepted && { passOn: true }) }, { cause: error });
      } finally {
        port.postMessage('abort');
        port.close();
      }
    },
    // Each session ends with its request.
    async unload() {},
  };
}

/** @throws ServiceError 400 */
async function readImages({ input }: ChatJob, signal: AbortSignal): Promise<Map<ChatImage, ImageBitmap>> {
  const images = imagesOf(input);
  if (images.length === 0) return new Map();
  const { decodeImages } = await import('../pictures/decode-images.ts');
  const read = await decodeImages(images, (decoder, image) => decoder.bitmap(image), signal);
  return new Map(read.map((bitmap, index) => [images[index] as ChatImage, bitmap]));
}

interface BrandedNavigator {
  userAgentData?: { brands: { brand: string; version: string }[] };
}

/** `google-chrome-142` */
function browser(): string {
  const brands = (navigator as BrandedNavigator).userAgentData?.brands ?? [];
  const named = brands.filter(({ brand }) => !/not.*brand/i.test(brand));
  const found = named.find(({ brand }) => brand !== 'Chromium') ?? named[0];
  return found ? `${found.brand}-${found.version}`.toLowerCase().replaceAll(/[^\w.-]+/g, '-') : 'browser';
}
