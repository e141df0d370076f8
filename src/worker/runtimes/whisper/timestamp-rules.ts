/** Ids of the tokens that are no text. All above `end` are special; from `firstTimestamp` on they are times. */
export interface SpecialTokens {
  /** End of the text. */
  end: number;
  start: number;
  /** Before the text that came before the window. */
  startOfPrevious: number;
  noSpeech: number;
  firstTimestamp: number;
}

/** Seconds of one timestamp token after the one before. */
export const TIMESTAMP_STEP = 0.02;
/** The first timestamp is at most a second after the window's start. */
const MAX_INITIAL_TIMESTAMP = 50;

/**
 * Sets the scores of tokens that may not come next to -Infinity: timestamps come in pairs, never decrease, and one comes where
 * all together are more probable than any text. Source: OpenAI's whisper, `ApplyTimestampRules`.
 * @param tokens of the window so far, without its prompt
 */
export function applyTimestampRules(
  scores: Float32Array,
  tokens: readonly number[],
  { end, firstTimestamp }: SpecialTokens,
): void {
  // Neither the tokens of the prompt nor those that switch timestamps off.
  scores.fill(-Infinity, end + 1, firstTimestamp);
  const [last, before] = [tokens.at(-1), tokens.at(-2)];
  if (last === undefined) {
    scores.fill(-Infinity, 0, firstTimestamp);
    scores.fill(-Infinity, firstTimestamp + MAX_INITIAL_TIMESTAMP + 1);
    return;
  }
  if (last >= firstTimestamp) {
    const isPair = before === undefined || before >= firstTimestamp;
    if (isPair) scores.fill(-Infinity, firstTimestamp);
    else scores.fill(-Infinity, 0, end);
  }
  const latest = tokens.findLast((token) => token >= firstTimestamp);
  if (latest !== undefined) {
    // The end of a segment comes after its start; the start of the next may be the same.
    const isStartNext = last >= firstTimestamp && before !== undefined && before < firstTimestamp;
    scores.fill(-Infinity, firstTimestamp, isStartNext ? latest : latest + 1);
  }
  const text = maxOf(scores, 0, firstTimestamp);
  if (logSumExp(scores, firstTimestamp) > text) scores.fill(-Infinity, 0, firstTimestamp);
}

function maxOf(scores: Float32Array, from: number, to: number): number {
  let max = -Infinity;
  for (let at = from; at < to; at++) max = Math.max(max, scores[at] ?? -Infinity);
  return max;
}

/** Logarithm of the sum of the exponentials from an index on. */
export function logSumExp(scores: Float32Array, from = 0): number {
  const max = maxOf(scores, from, scores.length);
  if (max === -Infinity) return max;
  let sum = 0;
  for (let at = from; at < scores.length; at++) sum += Math.exp((scores[at] ?? -Infinity) - max);
  return max + Math.log(sum);
}
