import { launch } from '../../test/support/launch.ts';
import { openPage } from '../../test/support/open-page.ts';
import { findRoot, peakTreeBytes } from '../../test/support/process-memory.ts';
import { inTurn, ratio, type Row } from './row.ts';
import { NO_GPU, type Stage } from './stage.ts';
import { removeFolder, tempFolder } from '../../test/support/temp-folder.ts';

/** Measures memory in a separate browser, which it closes; the stored weights stay. */
export async function memory({ site, rounds }: Stage): Promise<Row> {
  if (process.platform !== 'linux') throw new Error('memory is measured on Linux alone');
  const profile = await tempFolder('bench');
  try {
    const peak = (tabs: number, empty?: number) => peakMegabytes(profile, site.url, tabs, empty);
    const figures = await inTurn(
      rounds,
      {
        '6 tabs, MB': () => peak(6),
        '1 tab, MB': () => peak(1),
        '1 tab and 5 that show a file, MB': () => peak(1, 5),
      },
      true,
    );
    return ratio('peak memory while one tab chats: 6 tabs ÷ 1 tab', figures, { atMost: 1.1 });
  } finally {
    await removeFolder(profile);
  }
}

async function peakMegabytes(profile: string, url: string, tabs: number, empty = 0): Promise<number> {
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
    return (await peakTreeBytes(root, chat(100))) / 1e6;
  } finally {
    await context.close();
  }
}
