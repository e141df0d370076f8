import { ratio, summarize, type Row } from '../row.ts';
import { arrivals } from './beside-load.ts';
import { openai } from './engines.ts';

/** Measures the worst of 4 chats at once: the longest gap between two tokens ÷ the median gap. */
export async function gaps(rounds: number): Promise<Row> {
  const client = await openai();
  const gapsOf = async (content: string): Promise<number[]> => {
    const times = await arrivals(client, 32, [{ role: 'user', content }]);
    return times.slice(1).map((time, index) => time - (times[index] ?? time));
  };
  const questions = ['red', 'green', 'blue', 'black'].map(
    (colour) => `Write a story about a ${colour} bird.`,
  );
  const longest: number[] = [];
  const median: number[] = [];
  // The first round loads the prompts into the cache.
  for (let round = 0; round <= rounds; round++) {
    const [worst] = (await Promise.all(questions.map(gapsOf)))
      .map(summarize)
      .toSorted((a, b) => b.max / b.median - a.max / a.median);
    if (!worst || round === 0) continue;
    longest.push(worst.max);
    median.push(worst.median);
  }
  return ratio(
    '4 chats at once: the longest gap between two tokens of a chat ÷ its median gap',
    { 'longest, ms': longest, 'median, ms': median },
    { atMost: 3 },
  );
}
