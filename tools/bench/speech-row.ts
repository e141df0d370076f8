import { defaultCatalog } from '../../src/catalog/default-catalog.ts';
import { launch } from '../../test/support/launch.ts';
import { findRoot, peakTreeBytes, treeBytes } from '../../test/support/process-memory.ts';
import { speechModel } from '../../test/support/speech/speech-model.ts';
import { removeFolder, tempFolder } from '../../test/support/temp-folder.ts';
import type { SpeechFiles } from './page/speech.ts';
import { differences, quotients, type Row } from './row.ts';
import { NO_GPU, openBenchPage, type Stage } from './stage.ts';

const CLIP = 'sentences.ogg';
const CLIP_SECONDS = 54.4;
const MEGABYTE = 1e6;

/** Whisper tiny.en in 8 bits on the processor. Weights come from another origin on loopback, as from the hub. */
export async function speech({ page, site, rounds }: Stage): Promise<Row[]> {
  const model = await speechModel();
  const chats = defaultCatalog.models.filter(({ id }) => id === 'amber-phoenix-4');
  const catalog = { ...model.catalog, models: [...model.catalog.models, ...chats] };
  const files: SpeechFiles = { catalog, url: model.url, clip: CLIP };
  try {
    const time = () => page.evaluate((given) => window.bench.calls.speechOurs(given), files);
    const { fingerprint } = await time();
    const threads = Number(/-wasm-(\d+)t$/.exec(fingerprint)?.[1] ?? 1);
    const timeRaw = () =>
      page.evaluate(([given, count]) => window.bench.calls.speechRaw(given, count), [
        files,
        threads,
      ] as const);
    await timeRaw();
    const ours: number[] = [];
    const raw: number[] = [];
    for (let round = 0; round < rounds; round++) {
      ours.push((await time()).ms);
      raw.push(await timeRaw());
    }
    const chat = { alone: [] as number[], beside: [] as number[] };
    for (let round = 0; round < rounds; round++) {
      const measured = await page.evaluate((given) => window.bench.calls.speechBesideChat(given), files);
      chat.alone.push(measured.alone);
      chat.beside.push(measured.beside);
    }
    return [
      {
        name: 'speech to text: seconds of sound transcribed in a second',
        measures: `${CLIP_SECONDS} s of speech in Opus, Whisper tiny.en in 8 bits on WASM with ${threads} threads, decoding of the file included, in a page with the model loaded.`,
        unit: 'ratio',
        values: ours.map((ms) => (CLIP_SECONDS * 1000) / ms),
        goal: { atLeast: 3 },
      },
      {
        name: "speech to text: time of transformers.js' pipeline ÷ ours",
        measures:
          'The same file, weights and threads, with times of segments, in the page itself: decodeAudioData() and the pipeline with windows of 30 s.',
        unit: 'ratio',
        values: quotients(raw, ours),
        goal: { atLeast: 1 },
        detail: { 'transformers.js, ms': raw, 'ours, ms': ours },
      },
      {
        name: "speech to text beside a chat: the chat's decode speed ÷ alone",
        measures: 'Tokens a second of one stream, alone, and while a file is transcribed.',
        unit: 'ratio',
        values: quotients(chat.beside, chat.alone),
        detail: { 'alone, tokens/s': chat.alone, 'beside, tokens/s': chat.beside },
      },
      await memory(site, files, rounds),
    ];
  } finally {
    model.close();
  }
}

/** Each time in its own browser; the stored weights stay. */
async function memory(site: Stage['site'], files: SpeechFiles, rounds: number): Promise<Row> {
  const profile = await tempFolder('bench');
  const before: number[] = [];
  const peak: number[] = [];
  try {
    for (let round = -1; round < rounds; round++) {
      const context = await launch({ profile, extraArgs: NO_GPU });
      try {
        const { page } = await openBenchPage(context, site);
        const root = await findRoot(`--user-data-dir=${profile}`);
        const empty = await treeBytes(root);
        const work = page.evaluate((given) => window.bench.calls.speechOurs(given), files);
        const most = await peakTreeBytes(root, work);
        // The first round downloads.
        if (round < 0) continue;
        before.push(empty / MEGABYTE);
        peak.push(most / MEGABYTE);
      } finally {
        await context.close();
      }
    }
  } finally {
    await removeFolder(profile);
  }
  return {
    name: 'speech to text: peak memory of the browser − before',
    measures:
      "Proportional set sizes of all of the browser's processes, without pages of files, sampled every 200 ms from the page's load until the file is transcribed, with stored weights.",
    unit: 'MB',
    values: differences(peak, before),
    detail: { 'before, MB': before, 'peak, MB': peak },
  };
}
