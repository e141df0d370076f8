import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { build } from 'vite';

import { execute, findPython } from '../../../../src/node/cli/pull/wheels.ts';
import { launch } from '../../../../test/support/launch.ts';
import { speechModel, wordErrorRate } from '../../../../test/support/speech/speech-model.ts';
import { StaticSite } from '../../../../test/support/static-site.ts';
import { removeFolder, tempFolder } from '../../../../test/support/temp-folder.ts';
import { serveModels } from '../../../../test/support/tiny-onnx/serve-models.ts';
import { matchWords, type SpokenWord } from './match-words.ts';

/** What clips.py writes of each clip. */
interface Clip {
  seconds: number;
  said: string;
  /** Text that faster-whisper heard, as `words`. */
  heard: string;
  words: SpokenWord[];
}

const MAX_MS = 900_000;
/** Times that are further apart are counted. */
const CLOSE_SECONDS = 0.5;

/** Word errors and times of localtext's Whisper, beside those of faster-whisper, on 20 spoken clips. */
export async function measureSpeech(): Promise<void> {
  const folder = await tempFolder('clips');
  const closers: (() => unknown)[] = [() => removeFolder(folder)];
  try {
    const { clips, files } = await makeClips(folder);
    const server = await serveModels({ spoken: files });
    closers.push(() => server.close());
    const model = await speechModel();
    closers.push(() => model.close());
    await build({ mode: 'browser-tests', logLevel: 'warn' });
    const site = await StaticSite.start();
    closers.push(() => site.stop());
    const context = await launch();
    closers.unshift(() => context.close());
    const page = await context.newPage();
    const options = encodeURIComponent(JSON.stringify({ catalog: model.catalog }));
    await page.goto(`${site.url}/test-page.html?options=${options}`);
    const transcribe = (url: string) =>
      page.evaluate(async (address) => {
        const { key } = await (await window.localtext).keys.ensure({ label: 'quality' });
        const file = new File([await (await fetch(address)).blob()], 'clip.wav');
        const began = performance.now();
        const { text, words = [] } = await window.client(key).audio.transcriptions.create({
          file,
          model: 'coral-wren-4',
          response_format: 'verbose_json',
          timestamp_granularities: ['word'],
        });
        return { text, words, ms: performance.now() - began };
      }, url);
    const sums = { words: 0, ours: 0, theirs: 0, seconds: 0, ms: 0 };
    const distances: number[] = [];
    for (const [number, { seconds, said, heard, words }] of clips.entries()) {
      const answer = await transcribe(`${server.url}/spoken/${number}.wav`);
      const count = said.split(' ').length;
      const [ours, theirs] = [answer.text, heard.trim()].map((text) =>
        Math.round(wordErrorRate(said, text) * count),
      );
      const apart = matchWords(answer.words, words).flatMap(([a, b]) => [
        Math.abs(a.start - b.start),
        Math.abs(a.end - b.end),
      ]);
      distances.push(...apart);
      sums.words += count;
      sums.ours += ours ?? 0;
      sums.theirs += theirs ?? 0;
      sums.seconds += seconds;
      sums.ms += answer.ms;
      const furthest = Math.max(0, ...apart).toFixed(2);
      console.log(
        `${seconds} s: ${count} words, ${ours} wrong (${theirs}), times ${furthest} s apart at most`,
      );
      if (ours !== theirs)
        console.log(`  said:   ${said}\n  ours:   ${answer.text}\n  theirs: ${heard.trim()}`);
    }
    distances.sort((a, b) => a - b);
    const share = (errors: number) => `${((errors / sums.words) * 100).toFixed(1)} %`;
    const far = distances.filter((distance) => distance > CLOSE_SECONDS).length;
    const at = (part: number) => (distances[Math.floor((distances.length - 1) * part)] ?? 0).toFixed(2);
    console.log(
      `word error rate: ${share(sums.ours)}, faster-whisper ${share(sums.theirs)}, of ${sums.words} words\n` +
        `starts and ends of words: median ${at(0.5)} s, 95 % within ${at(0.95)} s, at most ${at(1)} s; ` +
        `${far} of ${distances.length} further than ${CLOSE_SECONDS} s\n` +
        `speed: ${((sums.seconds * 1000) / sums.ms).toFixed(1)} seconds of sound a second`,
    );
  } finally {
    for (const close of closers) await close();
  }
}

async function makeClips(folder: string): Promise<{ clips: Clip[]; files: Record<string, Uint8Array> }> {
  const signal = AbortSignal.timeout(MAX_MS);
  const python = await findPython(signal);
  if (!python) throw new Error('This needs Python 3.11 or later with pip, and espeak-ng.');
  const program = join(import.meta.dirname, 'clips.py');
  const { status, errors } = await execute([...python, program, folder], signal);
  if (status !== 0) throw new Error(`the clips could not be made: ${errors}`);
  const clips = JSON.parse(await readFile(join(folder, 'clips.json'), 'utf8')) as Clip[];
  const files: Record<string, Uint8Array> = {};
  for (const number of clips.keys()) files[`${number}.wav`] = await readFile(join(folder, `${number}.wav`));
  return { clips, files };
}
