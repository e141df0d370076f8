import type { Remote } from 'comlink';

import { invalidField, ServiceError, unsupported, abortable, withTimeout } from '#base';
import type { DecodeAudio } from '#protocol';
import { RestartableHelper } from '#engine-kit';
import type { ForPage, Sound } from './read-audio.ts';
import { SAMPLE_RATE } from './resampler.ts';
import type { Refused, soundWorker } from './sound-worker.ts';

/** Time limit for opening a file, or decoding a second of it. With a damaged file, a decoder may never answer. */
const READ_TIMEOUT_MS = 10_000;
/** Time limit in the page, which decodes a file as a whole. */
const PAGE_TIMEOUT_MS = 60_000;

/**
 * Reads sound files, one at a time, in a worker that is terminated on a timeout. The model stays loaded.
 * @param decodeInPage decodes what the worker cannot; by default, nothing
 */
export function soundReader(decodeInPage: DecodeAudio = async () => ({ plays: [] })) {
  const helper = new RestartableHelper<typeof soundWorker>('sound');
  helper.start().catch(() => undefined);

  async function* decoded(file: Blob, { codec, decodes }: ForPage, signal: AbortSignal): Sound {
    const audio = await abortable(withTimeout(decodeInPage(file), PAGE_TIMEOUT_MS), signal);
    if (!audio) throw unreadable(PAGE_TIMEOUT_MS);
    if ('plays' in audio) throw undecodable(codec, [...decodes, ...audio.plays]);
    const { samples } = audio;
    for (let at = 0; at < samples.length; at += SAMPLE_RATE)
      yield Float32Array.from(samples.subarray(at, at + SAMPLE_RATE), (sample) => sample / 32_768);
  }

  async function call<T extends object>(
    work: (sound: Remote<typeof soundWorker>) => Promise<T | Refused>,
    signal: AbortSignal,
  ): Promise<T> {
    const answer = await helper.call(work, { timeoutMs: READ_TIMEOUT_MS, toError, signal });
    if ('error' in answer) throw new ServiceError(answer.error);
    return answer;
  }

  return {
    /** @throws ServiceError 400: no sound, damaged, too long, or a codec that this browser lacks; the signal's reason */
    async *read(file: Blob, signal: AbortSignal): Sound {
      const { forPage } = await call((sound) => sound.open(file), signal);
      if (forPage) return yield* decoded(file, forPage, signal);
      try {
        for (;;) {
          const { samples } = await call((sound) => sound.next(), signal);
          if (!samples) return;
          yield samples;
        }
      } finally {
        const closed = helper.start().then((worker) => worker.call((sound) => sound.close()));
        closed.catch(() => undefined);
      }
    },
    end: () => helper.end(),
  };
}

const toError = (cause: unknown): Error =>
  cause === null
    ? unreadable(READ_TIMEOUT_MS)
    : invalidField('file', 'is damaged, or takes more memory to read than the browser has');

function unreadable(ms: number): ServiceError {
  const rule = `gave no sound for ${ms / 1000} s. It is damaged, or in a format that this browser decodes slowly. Send it as wav`;
  return invalidField('file', rule);
}

function undecodable(codec: string, decodes: readonly string[]): ServiceError {
  const others = decodes.filter((each) => !each.startsWith('pcm') && !each.endsWith('law'));
  const known = [...new Set(['wav', ...others])].join(', ');
  const rule = `is in ${codec}, and damaged, or of a kind that this browser cannot decode. It decodes ${known}`;
  return unsupported('file', rule);
}
