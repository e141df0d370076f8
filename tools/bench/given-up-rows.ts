import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import { speechModel } from '../../test/support/speech/speech-model.ts';
import type { GivenUpKind } from './page/given-up.ts';
import type { SpeechFiles } from './page/speech.ts';
import { inTurn, ratio, summarize, type Row } from './row.ts';
import { openBenchPage, type Stage } from './stage.ts';

const ROWS: { kind: GivenUpKind; count: number; short: string; long: string }[] = [
  { kind: 'chats', count: 8, short: 'a chat of 16 tokens', long: 'chats of 1,500 tokens' },
  { kind: 'chats', count: 200, short: 'a chat of 16 tokens', long: 'chats of 1,500 tokens' },
  { kind: 'prompts', count: 200, short: 'a chat of 16 tokens', long: 'prompts of 1,300 tokens' },
  { kind: 'decisions', count: 200, short: 'a decision', long: 'decisions of 20 questions' },
  { kind: 'embeddings', count: 200, short: 'an embedding', long: 'requests for 16 embeddings' },
  { kind: 'transcriptions', count: 8, short: 'a transcription of 3 s', long: 'transcriptions of 54 s' },
];

/** Short requests whose median is one value. */
const REPEATED = 3;

/** Short requests while those that another tab has given up are computed. */
export async function givenUp({ context, page, site, rounds }: Stage): Promise<Row[]> {
  const model = await speechModel();
  const catalog = { ...model.catalog, models: [...model.catalog.models, ...defaultCatalog.models] };
  const files: SpeechFiles = { catalog, url: model.url, clip: '' };
  // Differs in each text, so that no answer is shared and no prompt is in the cache.
  let asked = 0;
  const short = async (kind: GivenUpKind): Promise<number> => {
    const from = (asked += 1000);
    const args = [kind, files, from, REPEATED] as const;
    return summarize(await page.evaluate((all) => window.bench.calls.shortOnes(...all), args)).median;
  };
  const jobs = (kind: GivenUpKind): Promise<number> =>
    page.evaluate((all) => window.bench.calls.jobsOf(...all), [kind, files] as const);
  try {
    const rows: Row[] = [];
    for (const { kind, count, short: what, long } of ROWS) {
      await short(kind);
      const beside = async (): Promise<number> => {
        const other = await openBenchPage(context, site);
        const args = [kind, files, (asked += 1000), count] as const;
        await other.page.evaluate((all) => window.bench.calls.giveUp(...all), args);
        const ms = await short(kind);
        if ((await jobs(kind)) === 0) throw new Error(`the ${long} ended before the short ones`);
        await other.page.close();
        while ((await jobs(kind)) > 0) await new Promise((resolve) => setTimeout(resolve, 100));
        return ms;
      };
      const figures = await inTurn(rounds, { 'beside, ms': beside, 'alone, ms': () => short(kind) });
      const name = `${what} beside ${count} ${long} that a tab has given up ÷ alone`;
      rows.push(ratio(name, figures, { atMost: 3 }));
    }
    return rows;
  } finally {
    model.close();
  }
}
