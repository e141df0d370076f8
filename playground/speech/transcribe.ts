import { openai } from '../client/openai.ts';
import { cutAtPauses } from './cut-at-pauses.ts';
import { RATE } from './decode-sound.ts';
import type { Segment } from './subtitles.ts';
import { writeWav } from './wav.ts';

interface Options {
  model: string;
  signal: AbortSignal;
  /** Called after each part, with all segments so far and the seconds that are done. */
  onProgress?: (segments: readonly Segment[], seconds: number) => void;
}

/**
 * Has /v1 transcribe sound, a part of up to 30 s after another, so that the text comes as it is ready and each sentence has
 * its times: a stream of /v1 has no times.
 */
export async function transcribeSamples(
  samples: Float32Array,
  { model, signal, onProgress }: Options,
): Promise<Segment[]> {
  let segments: Segment[] = [];
  for (const { start, end } of cutAtPauses(samples, RATE)) {
    const file = new File([writeWav(samples.subarray(start, end), RATE)], 'part.wav');
    const heard = await transcribeFile(file, { model, signal });
    const offset = start / RATE;
    segments = [
      ...segments,
      ...heard.map((each) => ({ ...each, start: offset + each.start, end: offset + each.end })),
    ];
    onProgress?.(segments, end / RATE);
  }
  return segments;
}

/** Transcribes a file in one request: the whole of it if this page cannot decode it or has too little memory for it. */
export async function transcribeFile(
  file: File,
  { model, signal }: Omit<Options, 'onProgress'>,
): Promise<Segment[]> {
  const client = await openai();
  const { segments = [] } = await client.audio.transcriptions.create(
    { file, model, response_format: 'verbose_json', timestamp_granularities: ['segment'] },
    { signal },
  );
  return segments.map(({ start, end, text }) => ({ start, end, text: text.trim() }));
}
