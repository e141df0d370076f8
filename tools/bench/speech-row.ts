import { speechModel } from '../../test/support/speech/speech-model.ts';
import type { SpeechFiles } from './page/speech.ts';
import { inTurn, ratio, type Row } from './row.ts';
import type { Stage } from './stage.ts';

const CLIP = 'sentences.ogg';
const CLIP_SECONDS = 54.4;

/** Whisper tiny.en in 8 bits on the processor. Weights come from another origin on loopback, as from the hub. */
export async function speech({ page, rounds }: Stage): Promise<Row[]> {
  const model = await speechModel();
  const files: SpeechFiles = { catalog: model.catalog, url: model.url, clip: CLIP };
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
    const figures = await inTurn(rounds, {
      'transformers.js, ms': timeRaw,
      'ours, ms': async () => (await time()).ms,
    });
    return [
      {
        name: 'speech to text: seconds of sound transcribed in a second',
        unit: 'ratio',
        values: figures['ours, ms'].map((ms) => (CLIP_SECONDS * 1000) / ms),
        goal: { atLeast: 3 },
      },
      ratio("speech to text: time of transformers.js' pipeline ÷ ours", figures, { atLeast: 1 }),
    ];
  } finally {
    model.close();
  }
}
