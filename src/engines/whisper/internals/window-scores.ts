/**
 * Scores of a window's tokens, and two rules for its timestamps.
 * @remarks
 * - Relies on: `generate()` dividing the scores by the temperature before it calls the caller's logits processors, and
 *   passing the same array to all processors, which change it in place.
 * - Read in: @huggingface/transformers 4.3.2, `_get_logits_processor()` in `models/modeling_utils.js`.
 * - Notices: test/browser/transcription.test.ts, by the texts and log probabilities of whole windows.
 * - Then: a test fails before a release.
 */
import { LogitsProcessor, type Tensor } from '@huggingface/transformers';

/** Maximum index of the first timestamp token: a second after the window's start. */
const MAX_INITIAL_TIMESTAMP = 50;

/**
 * Sums the log probabilities of a window's tokens, which generate() does not return, and enforces two rules of OpenAI's
 * whisper that transformers.js lacks: timestamps never decrease, and the first is at most a second.
 */
export class WindowScores extends LogitsProcessor {
  logprobs = 0;
  readonly #begin: number;
  readonly #firstTimestamp: number;
  readonly #end: number;
  /** Temperature by which generate() divides the scores. */
  readonly #temperature: number;
  /** Scores of the next token. Later processors change them in place. */
  #scores: Float32Array | null = null;

  constructor(promptLength: number, firstTimestamp: number, end: number, temperature: number) {
    super();
    this.#begin = promptLength;
    this.#firstTimestamp = firstTimestamp;
    this.#end = end;
    this.#temperature = temperature || 1;
  }

  override _call([sequence = []]: bigint[][], logits: Tensor): Tensor {
    const tokens = sequence.slice(this.#begin).map(Number);
    this.note(tokens.at(-1));
    this.#scores = logits.data as Float32Array;
    // A window whose results are not numbers ends at once: its caller refuses it.
    if (Number.isNaN(this.logprobs)) this.#scores.fill(-Infinity).fill(0, this.#end, this.#end + 1);
    const isTime = (token: number | undefined): boolean =>
      token !== undefined && token >= this.#firstTimestamp;
    const latest = tokens.findLast(isTime);
    if (latest === undefined) this.#scores.fill(-Infinity, this.#firstTimestamp + MAX_INITIAL_TIMESTAMP + 1);
    else {
      // A segment ends after its start. The next segment may start at the previous end.
      const isStartNext = isTime(tokens.at(-1)) && tokens.length > 1 && !isTime(tokens.at(-2));
      this.#scores.fill(-Infinity, this.#firstTimestamp, isStartNext ? latest : latest + 1);
    }
    return logits;
  }

  /** Adds the log probability of the last chosen token. */
  note(token: number | undefined): void {
    if (!this.#scores || token === undefined) return;
    const scores =
      this.#temperature === 1 ? this.#scores : this.#scores.map((score) => score * this.#temperature);
    this.logprobs += (scores[token] ?? 0) - logSumExp(scores);
    this.#scores = null;
  }
}

/** Logarithm of the sum of the exponentials. */
export function logSumExp(scores: Float32Array): number {
  let max = -Infinity;
  for (const score of scores) if (score > max) max = score;
  let sum = 0;
  for (const score of scores) sum += Math.exp(score - max);
  return max + Math.log(sum);
}
