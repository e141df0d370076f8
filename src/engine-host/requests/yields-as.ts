import { charactersOf, type ChatJob, estimateTokens, imagesOf, repeats } from '../../jobs/chat.ts';
import type { Job } from '../../jobs/kinds.ts';
import type { Origin } from '../../protocol/engine-port.ts';
import type { Yielding } from '../../engines/slot-queue.ts';

/** Work of a job that gives way at most to clients with fewer slots, in tokens of a reply. */
const MIN_PAUSED = 32;
/** Work of a job that gives way only where such a one, or a streamed one, is waiting. */
const SHORT = 128;

/** Tokens of a prompt that are computed in the time of one of a reply, at least. */
const PROMPT_TOKENS = 10;
/** Tokens of an image, about. */
const IMAGE_TOKENS = 500;

/** A question of a decision is a prompt, and a step that reads the first tokens of all its options. */
const QUESTION = 8;
/** Further tokens of an option. */
const OPTION = 2;

/** Bytes of compressed sound that count as a token: 32 KB, some seconds, run to their end, and up to a minute is short. */
const SOUND_BYTES = 1024;
/** The same of a wav file: 4 s at 16 kHz run to their end. */
const WAV_BYTES = 4096;

/**
 * What the job yields its slot as; null if it never does. A decision loses only the question under way, a transcription nothing. A
 * stream gives way only to clients with fewer slots; one with a constraint or log probabilities would begin again.
 */
export function yieldsAs(job: Job, origin: Origin | undefined): Yielding['as'] | null {
  const work = workOf(job);
  const isBackground = origin?.background === true;
  const isShort = work <= MIN_PAUSED;
  if (isShort && !(isBackground && job.kind === 'chat' && !job.countOnly)) return null;
  if (isShort || !isBackground) return job.kind === 'chat' && repeats(job) ? null : 'sharing';
  return work <= SHORT ? 'short' : 'long';
}

/** Time that the job takes an engine, in tokens of a reply. */
function workOf(job: Job): number {
  switch (job.kind) {
    case 'embedding':
      return 0;
    case 'decision':
      return job.questions.reduce((sum, { options }) => sum + QUESTION + OPTION * options.length, 0);
    case 'transcription':
      return job.file.size / (/wav/.test(job.file.type) ? WAV_BYTES : SOUND_BYTES);
    case 'chat': {
      const { maxTokens = Infinity, countOnly } = job;
      return countOnly ? 0 : maxTokens + promptTokens(job.input) / PROMPT_TOKENS;
    }
  }
}

function promptTokens(input: ChatJob['input']): number {
  if ('tokens' in input) return input.tokens.length;
  return estimateTokens(charactersOf(input)) + imagesOf(input).length * IMAGE_TOKENS;
}
