import { FormatError } from './byte-cursor.ts';
import { ggufFacts, printable, type GgufFacts } from './gguf-facts.ts';
import { readGguf } from './read-gguf.ts';
import { readHeader, type FileStart } from './read-header.ts';

export interface ModelFile extends FileStart {
  name: string;
}

export interface InspectedModel<F> {
  /** Those of the first file; tensors are those of all. */
  facts: GgufFacts;
  /** As the file names it, else made of the file's own name. */
  name: string;
  /** In the order of the parts. */
  files: F[];
  bytes: number;
}

const MAX_FILES = 100;
const MAX_NAME_LENGTH = 100;

/** Reads the headers of a model's files, all of them when it is split. @throws FormatError: a phrase that names the file */
export async function inspectModel<F extends ModelFile>(files: readonly F[]): Promise<InspectedModel<F>> {
  if (files.length > MAX_FILES)
    throw new FormatError(`${files.length} files were given; ${MAX_FILES} are allowed`);
  const parts: { file: F; facts: GgufFacts }[] = [];
  for (const file of files) {
    try {
      parts.push({ file, facts: await readHeader(file, (cursor) => ggufFacts(readGguf(cursor))) });
    } catch (error) {
      throw named(file, error);
    }
  }
  const sorted = parts.toSorted((a, b) => (a.facts.split?.index ?? 0) - (b.facts.split?.index ?? 0));
  const [first] = sorted;
  if (!first) throw new FormatError('No file was given');
  const count = first.facts.split?.count ?? 1;
  const complete =
    sorted.length === count &&
    sorted.every(({ facts: { split } }, at) => (split?.index ?? 0) === at && (split?.count ?? 1) === count);
  if (!complete) throw incomplete(first.file.name, count, files.length);
  return {
    facts: { ...first.facts, tensors: sorted.reduce((total, { facts }) => total + facts.tensors, 0) },
    name: (first.facts.name ?? printable(baseName(first.file.name)) ?? 'model').slice(0, MAX_NAME_LENGTH),
    files: sorted.map(({ file }) => file),
    bytes: sorted.reduce((total, { file }) => total + file.size, 0),
  };
}

/** `folder/SmolLM2.Q8_0-00001-of-00003.gguf` → `SmolLM2.Q8_0` */
const baseName = (path: string): string =>
  (path.split('/').at(-1) ?? '').replace(/\.gguf$/i, '').replace(/-\d{5}-of-\d{5}$/, '');

function named({ name }: ModelFile, error: unknown): unknown {
  if (error instanceof FormatError) return new FormatError(`${name} ${error.message}`);
  // Of a folder, or of a file that was moved or changed since it was chosen.
  if (error instanceof DOMException) return new FormatError(`${name} cannot be read (${error.name})`);
  return error;
}

const incomplete = (name: string, count: number, given: number): FormatError =>
  new FormatError(
    count === 1
      ? `${given} files were given, and ${name} is a whole model: add one model at a time`
      : `${name} is a part of a model of ${count} files, and ${given} were given: add all of them together`,
  );
