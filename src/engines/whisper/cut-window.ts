import { FRAME_SECONDS } from './internals/whisper-model.ts';

/** A segment of a window. */
export interface WindowSegment {
  /** Seconds from the window's start. */
  start: number;
  end: number;
  /** Index of the segment's first token in the window's tokens. */
  first: number;
  /** Tokens of the segment, timestamps included. */
  tokens: number[];
}

export interface WindowCut {
  segments: WindowSegment[];
  /** Start of the next window, in seconds from this window's start. */
  nextStart: number;
}

/**
 * Splits a window's tokens at their timestamps. The next window begins where the last finished segment ends, so that it
 * contains a word that this window's end cuts. Source: OpenAI's whisper, `transcribe`.
 */
export function cutWindow(tokens: readonly number[], firstTimestamp: number, seconds: number): WindowCut {
  const isTime = (token: number | undefined): boolean => token !== undefined && token >= firstTimestamp;
  const time = (token: number | undefined): number =>
    Math.min(((token ?? firstTimestamp) - firstTimestamp) * FRAME_SECONDS, seconds);
  const isFinished = isTime(tokens.at(-1)) && !isTime(tokens.at(-2));
  const cuts = tokens.flatMap((token, at) => (at > 0 && isTime(token) && isTime(tokens[at - 1]) ? [at] : []));
  if (cuts.length > 0) {
    if (isFinished) cuts.push(tokens.length);
    const segments = cuts.map((cut, index): WindowSegment => {
      const first = cuts[index - 1] ?? 0;
      const part = tokens.slice(first, cut);
      return { start: time(part[0]), end: time(part.at(-1)), first, tokens: part };
    });
    const last = segments.at(-1)?.end ?? 0;
    return { segments, nextStart: isFinished || last === 0 ? seconds : last };
  }
  const latest = tokens.findLast((token) => token > firstTimestamp);
  const end = latest === undefined ? seconds : time(latest);
  return { segments: [{ start: 0, end, first: 0, tokens: [...tokens] }], nextStart: seconds };
}
