import { readFileSync } from 'node:fs';

interface Questions {
  /** Patterns of correct answers by question; `(?i)` before one ignores case. */
  plain: Record<string, string>;
  moods: Record<string, 'positive' | 'negative'>;
  /** Cities that a call of a tool must name. */
  cities: string[];
  /** Questions whose answers may be long. */
  open: string[];
  /** Sentences to repeat to the letter. */
  quotations: string[];
}

const read = JSON.parse(readFileSync('tools/bench/quality/questions.json', 'utf8')) as Questions;

export const { cities, open: openQuestions, quotations } = read;

export const moods = Object.entries(read.moods);

/** Questions worded as people ask them who try a chat for the first time. */
export const questions = Object.entries(read.plain).map(
  ([question, pattern]) =>
    [question, pattern.startsWith('(?i)') ? new RegExp(pattern.slice(4), 'i') : new RegExp(pattern)] as const,
);
