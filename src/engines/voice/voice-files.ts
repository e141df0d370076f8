import { z } from '#base/full-zod';
import type { VoiceVariant } from './rules.ts';
import { corruptFile, isNumber, isObject, parseJson, readStream, serverError } from '#base';
import type { EngineContext } from '#engine-kit';
import type { PhonemeTables } from '#phonemes';

/** Maximum size of a table's text. The largest of the catalog takes a third of it. */
const MAX_TABLE_BYTES = 16 * 2 ** 20;

const isTable = (value: unknown, holds: (value: unknown) => boolean): boolean =>
  isObject(value) && Object.values(value).every(holds);
/** Large tables, for which zod's own records take a second. */
const table = <Value>(holds: (value: unknown) => boolean) =>
  z.custom<Record<string, Value>>((value) => isTable(value, holds));
const isText = (value: unknown): boolean => typeof value === 'string';

const texts = z.array(z.string());
const readings = table<string>(isText);
const forms = z.record(z.string(), z.tuple([z.string(), z.string()]));
const words = table<PhonemeTables['dialect']['gold'][string]>(
  (entry) => isText(entry) || isTable(entry, (reading) => reading === null || isText(reading)),
);
const tagger = z.object({
  tags: texts.nonempty(),
  tagdict: readings,
  vocab: texts,
  weights: table<Record<string, number>>((weights) => isTable(weights, isNumber)),
});
const writtenForms = z.object({
  months: readings,
  abbreviations: readings,
  titles: readings,
  units: forms,
  symbols: readings,
  currency: forms,
  roman_cardinal: texts,
  roman_ordinal: texts,
});
/** Alphabets of the network that reads unknown words. */
const unknownWords = z.object({ in: texts, out: texts, maxlen: z.int().positive() });
/** Ids of the phonemes that the voices know. All networks have the 178 of Kokoro. */
const vocabulary = z.record(z.string(), z.int().nonnegative().max(177));
export type VoiceTables = Awaited<ReturnType<typeof readTables>>;

/** Opens a file by the end of its path. Files of the catalog are checked by their hashes. */
export const fileOf = async (
  { name, files }: VoiceVariant,
  { file }: Pick<EngineContext, 'file'>,
  end: string,
): Promise<Blob> => {
  const found = files.find(({ path }) => path.endsWith(`/${end}`));
  if (!found)
    throw serverError('weights_unavailable', `${name} lists no file ${end}. Add it to the variant's files.`);
  return file(found.path);
};

/** @throws ServiceError `weights_corrupt` naming the table */
export async function readTables(variant: VoiceVariant, context: Pick<EngineContext, 'file' | 'signal'>) {
  async function read<T>(end: string, schema: z.ZodType<T>): Promise<T> {
    const refuse = (fault: string): Error => corruptFile(end, fault);
    const file = (await fileOf(variant, context, end)).stream();
    const stream = end.endsWith('.gzip') ? file.pipeThrough(new DecompressionStream('gzip')) : file;
    const tooLarge = (): Error => refuse(`has more than ${MAX_TABLE_BYTES} bytes of text`);
    const reading = readStream(stream, MAX_TABLE_BYTES, tooLarge, context.signal);
    const bytes = await reading.catch((error: unknown) => {
      throw error instanceof TypeError ? refuse('is not gzip, or cut short') : error;
    });
    return parseJson(new TextDecoder().decode(bytes), schema, 'is not a table of a voice', refuse);
  }
  return {
    phonemes: {
      dialect: {
        gold: await read('lexicon-gold.gzip', words),
        silver: await read('lexicon-silver.gzip', words),
      },
      tagger: await read('tagger.gzip', tagger),
      specialCases: await read('special-cases.json', z.record(z.string(), texts)),
      writtenForms: await read('written-forms.json', writtenForms),
    },
    unknownWords: await read('unknown-words.json', unknownWords),
    vocabulary: await read('vocabulary.json', vocabulary),
  };
}
