import { TIMESTAMP_STEP } from './timestamp-rules.ts';

/** Tokens of one segment, in seconds of the window. */
export interface WindowSegment {
  start: number;
  end: number;
  /** Its times included. */
  tokens: number[];
}

export interface WindowCut {
  segments: WindowSegment[];
  /** Seconds of the window after which the next window begins. */
  nextStart: number;
}

/**
 * Splits a window's tokens at their timestamps. The next window begins where the last finished segment ends, so that words cut
 * at the window's end are heard whole. Source: OpenAI's whisper, `transcribe`.
 */
export function cutWindow(tokens: readonly number[], firstTimestamp: number, seconds: number): WindowCut {
  const isTime = (token: number | undefined): boolean => token !== undefined && token >= firstTimestamp;
  const time = (token: number | undefined): number =>
    Math.min(((token ?? firstTimestamp) - firstTimestamp) * TIMESTAMP_STEP, seconds);
  const isFinished = isTime(tokens.at(-1)) && !isTime(tokens.at(-2));
  const cuts = tokens.flatMap((token, at) => (at > 0 && isTime(token) && isTime(tokens[at - 1]) ? [at] : []));
  if (cuts.length > 0) {
    if (isFinished) cuts.push(tokens.length);
    const segments = cuts.map((cut, index): WindowSegment => {
      const part = tokens.slice(cuts[index - 1] ?? 0, cut);
      return { start: time(part[0]), end: time(part.at(-1)), tokens: part };
    });
    const last = segments.at(-1)?.end ?? 0;
    return { segments, nextStart: isFinished || last === 0 ? seconds : last };
  }
  const latest = tokens.findLast((token) => token > firstTimestamp);
  const end = latest === undefined ? seconds : time(latest);
  return { segments: [{ start: 0, end, tokens: [...tokens] }], nextStart: seconds };
}
