/** How much each head of the decoder looks at each piece of sound, for each token that it is given. */
export interface Attentions {
  /** Of one head: a row of `frames` for each token. They are overwritten. */
  heads: Float32Array[];
  frames: number;
  tokens: number;
}

/** Seconds of sound that one frame of the encoder stands for. */
export const FRAME_SECONDS = 0.02;
const MEDIAN_WIDTH = 7;

/**
 * When each token begins, in frames: the cheapest way through the tokens and the frames that never goes back. Source of the
 * method: OpenAI's whisper, `find_alignment`.
 * @param skip tokens at the start that are no text
 */
export function alignTokens({ heads, frames, tokens }: Attentions, skip: number): number[] {
  const rows = tokens - skip;
  const costs = new Float32Array(rows * frames);
  const smooth = new Float32Array(frames);
  for (const head of heads) {
    normalize(head, frames, tokens);
    for (let row = 0; row < rows; row++) {
      const from = (row + skip) * frames;
      medianFilter(head.subarray(from, from + frames), smooth);
      for (let frame = 0; frame < frames; frame++) {
        const at = row * frames + frame;
        costs[at] = (costs[at] ?? 0) - (smooth[frame] ?? 0) / heads.length;
      }
    }
  }
  return cheapestStarts(costs, rows, frames);
}

/** Each frame's mean over the tokens becomes 0, and its deviation 1: heads that always look at one place say nothing. */
function normalize(head: Float32Array, frames: number, tokens: number): void {
  for (let frame = 0; frame < frames; frame++) {
    let sum = 0;
    for (let token = 0; token < tokens; token++) sum += head[token * frames + frame] ?? 0;
    const mean = sum / tokens;
    let squares = 0;
    for (let token = 0; token < tokens; token++) squares += ((head[token * frames + frame] ?? 0) - mean) ** 2;
    const deviation = Math.sqrt(squares / tokens) || 1;
    for (let token = 0; token < tokens; token++) {
      const at = token * frames + frame;
      head[at] = ((head[at] ?? 0) - mean) / deviation;
    }
  }
}

/** The row is mirrored at its ends. */
function medianFilter(row: Float32Array, target: Float32Array): void {
  const half = MEDIAN_WIDTH >> 1;
  const last = row.length - 1;
  const near = new Float32Array(MEDIAN_WIDTH);
  for (let at = 0; at <= last; at++) {
    for (let offset = 0; offset < MEDIAN_WIDTH; offset++) {
      const mirrored = Math.abs(at + offset - half);
      near[offset] = row[Math.max(0, mirrored > last ? 2 * last - mirrored : mirrored)] ?? 0;
    }
    // oxlint-disable-next-line unicorn/no-array-sort -- a copy for each value would be slow
    target[at] = near.sort()[half] ?? 0;
  }
}

/** Dynamic time warping. @returns the first frame of each row */
function cheapestStarts(costs: Float32Array, rows: number, frames: number): number[] {
  const width = frames + 1;
  const total = new Float32Array((rows + 1) * width).fill(Infinity);
  // 0: one row and one frame on; 1: one row; 2: one frame.
  const steps = new Uint8Array((rows + 1) * width);
  total[0] = 0;
  for (let row = 1; row <= rows; row++) {
    for (let frame = 1; frame <= frames; frame++) {
      const at = row * width + frame;
      const both = total[at - width - 1] ?? 0;
      const down = total[at - width] ?? 0;
      const right = total[at - 1] ?? 0;
      const cheapest = Math.min(both, down, right);
      steps[at] = cheapest === right ? 2 : cheapest === both ? 0 : 1;
      total[at] = (costs[(row - 1) * frames + frame - 1] ?? 0) + cheapest;
    }
  }
  const starts = Array.from({ length: rows }, () => 0);
  let [row, frame] = [rows, frames];
  while (row > 0 && frame > 0) {
    starts[row - 1] = frame - 1;
    const step = steps[row * width + frame];
    if (step !== 2) row--;
    if (step !== 1) frame--;
  }
  return starts;
}

export interface TokenWord {
  word: string;
  /** Of its first token with a letter or a digit. */
  first: number;
  /** After its last such token. */
  end: number;
}

const PUNCTUATION = /^(?:\s|(?![%&#@*])\p{P})+|(?:\s|(?![%&#@*])\p{P})+$/gu;
const trim = (text: string): string => text.replaceAll(PUNCTUATION, '');
/** Languages whose words no space divides: each character is one. */
const WITHOUT_SPACES = new Set(['zh', 'yue', 'ja', 'th', 'lo', 'my']);

/**
 * The words of a text, without the punctuation around them, as OpenAI gives them.
 * @param textOf of some of its tokens
 */
export function wordsOf(
  tokens: readonly number[],
  textOf: (tokens: readonly number[]) => string,
  language: string,
): TokenWord[] {
  const words: TokenWord[] = [];
  const isSpaced = !WITHOUT_SPACES.has(language);
  let from = 0;
  for (let end = 1; end <= tokens.length; end++) {
    const piece = textOf(tokens.slice(from, end));
    // Some tokens are a part of a character.
    if (piece.includes('\uFFFD') && end < tokens.length) continue;
    const open = words.at(-1);
    if (!open || !isSpaced || /^\s/.test(piece)) words.push({ word: piece, first: from, end });
    else {
      if (trim(open.word) === '') open.first = from;
      if (trim(piece) !== '') open.end = end;
      open.word += piece;
    }
    from = end;
  }
  return words.map((each) => ({ ...each, word: trim(each.word) })).filter(({ word }) => word !== '');
}

export interface TimedWord {
  word: string;
  start: number;
  end: number;
}

/** The first and the last word of a segment last at most this many times the median, as silence may be counted to them. */
const MAX_OF_MEDIAN = 2;
const MAX_MEDIAN_SECONDS = 0.7;

/**
 * The words of one segment.
 * @param starts of its tokens and of what follows them, in seconds
 */
export function timeWords(words: readonly TokenWord[], starts: readonly number[]): TimedWord[] {
  const timed = words.map(({ word, first, end }): TimedWord => {
    const start = starts[first] ?? 0;
    return { word, start, end: Math.max(start, starts[end] ?? 0) };
  });
  const lengths = timed.map(({ start, end }) => end - start).toSorted((a, b) => a - b);
  const max = Math.min(lengths[lengths.length >> 1] ?? 0, MAX_MEDIAN_SECONDS) * MAX_OF_MEDIAN;
  const [first, last] = [timed[0], timed.at(-1)];
  if (first) first.start = Math.max(first.start, first.end - max);
  if (last) last.end = Math.min(last.end, last.start + max);
  return timed;
}
