import type { VoiceVariant } from './rules.ts';
import { corruptFile, serverError } from '#base';
import type { EngineContext } from '#engine-kit';
import type { PhonemeTables } from '#phonemes';

/** Alphabets of the network that reads unknown words. */
export interface UnknownWordsTable {
  in: string[];
  out: string[];
  maxlen: number;
}

/** Ids of the phonemes that the voices know. */
export type Vocabulary = Record<string, number>;

export interface VoiceTables {
  phonemes: PhonemeTables;
  unknownWords: UnknownWordsTable;
  vocabulary: Vocabulary;
}

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

/** @throws ServiceError `weights_corrupt` */
async function readJson<T>(
  variant: VoiceVariant,
  context: Pick<EngineContext, 'file'>,
  end: string,
): Promise<T> {
  const blob = await fileOf(variant, context, end);
  const stream = end.endsWith('.gzip')
    ? blob.stream().pipeThrough(new DecompressionStream('gzip'))
    : blob.stream();
  try {
    return (await new Response(stream).json()) as T;
  } catch {
    throw corruptFile(end, 'is not JSON');
  }
}

export async function readTables(
  variant: VoiceVariant,
  context: Pick<EngineContext, 'file'>,
): Promise<VoiceTables> {
  const read = <T>(end: string): Promise<T> => readJson<T>(variant, context, end);
  type Dialect = PhonemeTables['dialect'];
  const [gold, silver, tagger, specialCases, writtenForms, unknownWords, vocabulary] = await Promise.all([
    read<Dialect['gold']>('lexicon-gold.gzip'),
    read<Dialect['silver']>('lexicon-silver.gzip'),
    read<PhonemeTables['tagger']>('tagger.gzip'),
    read<PhonemeTables['specialCases']>('special-cases.json'),
    read<PhonemeTables['writtenForms']>('written-forms.json'),
    read<UnknownWordsTable>('unknown-words.json'),
    read<Vocabulary>('vocabulary.json'),
  ]);
  const dialect = { gold, silver };
  return { phonemes: { dialect, tagger, specialCases, writtenForms }, unknownWords, vocabulary };
}
