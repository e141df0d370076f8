import { launch } from '../../test/support/launch.ts';
import { openPage } from '../../test/support/open-page.ts';
import { findRoot, peakTreeBytes } from '../../test/support/process-memory.ts';
import { ratio, type Row } from './row.ts';
import { NO_GPU, type Stage } from './stage.ts';
import { removeFolder, tempFolder } from '../../test/support/temp-folder.ts';

const MEGABYTE = 1e6;

/** Measures memory in a separate browser, which it closes; the stored weights stay. */
export async function memory({ site, rounds }: Stage): Promise<Row> {
  if (process.platform !== 'linux') throw new Error('memory is measured on Linux alone');
  const profile = await tempFolder('bench');
  try {
    await peakBytes(profile, site.url, 1);
    const one: number[] = [];
    const empty: number[] = [];
    const six: number[] = [];
    for (let round = 0; round < rounds; round++) {
      one.push((await peakBytes(profile, site.url, 1)) / MEGABYTE);
      empty.push((await peakBytes(profile, site.url, 1, 5)) / MEGABYTE);
      six.push((await peakBytes(profile, site.url, 6)) / MEGABYTE);
    }
    return ratio(
      'peak memory while one tab chats: 6 tabs ÷ 1 tab',
      { '6 tabs, MB': six },
      { '1 tab, MB': one },
      { atMost: 1.1 },
      { '1 tab and 5 that show a file, MB': empty },
    );
  } finally {
    await removeFolder(profile);
  }
}

async function peakBytes(profile: string, url: string, tabs: number, empty = 0): Promise<number> {
  const context = await launch({ profile, extraArgs: NO_GPU });
  try {
    for (let open = 0; open < empty; open++)
      await (await context.newPage()).goto(`${url}/models/manifest.json`);
    let chatting = await openPage(context, url);
    for (let open = 1; open < tabs; open++) chatting = await openPage(context, url);
    const { page, key } = chatting;
    const chat = (tokens: number): Promise<void> =>
      page.evaluate(
        async ([apiKey, count]) => {
          const stream = await window.client(apiKey).chat.completions.create({
            model: 'amber-phoenix-4',
            messages: [{ role: 'user', content: 'Write a story about a fox and a crow.' }],
            max_tokens: count,
            stream: true,
          });
          for await (const _ of stream);
        },
        [key, tokens] as const,
      );
    await chat(1);
    const root = await findRoot(`--user-data-dir=${profile}`);
    return await peakTreeBytes(root, chat(100));
  } finally {
    await context.close();
  }
}
