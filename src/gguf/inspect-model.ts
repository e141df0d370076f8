import type { FileRole } from '#catalog';
import { type FileStart, FormatError } from './byte-cursor.ts';
import { printable } from '#base';
import { ggufTraits, requireTensors, type GgufTraits } from './gguf-traits.ts';
import { type OpenGguf, openStart } from './open-gguf.ts';

export interface ModelFile extends FileStart {
  name: string;
  /** Set for a projector that the user did not choose. It is left out if localtext cannot use it. */
  optional?: boolean;
}

/** Detects a projector, a model's image or audio part, by its file name. */
export function isProjector(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  return name.includes('mmproj') && name.endsWith('.gguf');
}

export interface InspectedModel<F> {
  /** Traits of the first file, with the tensors of all files. */
  traits: GgufTraits;
  /** Name in the file's metadata, or derived from the file name. */
  name: string;
  /** Parts in order, then the others. */
  files: F[];
  /** Roles of files that are not parts of the model itself. */
  roles: ReadonlyMap<F, FileRole>;
  bytes: number;
}

interface Part<F> {
  file: F;
  traits: GgufTraits;
  tensorNames: string[];
  /** Number of tensors in all parts, according to this part. */
  tensorCount: unknown;
}

const MAX_FILES = 100;
const MAX_NAME_LENGTH = 100;

type Open<F> = (file: F) => Promise<OpenGguf>;

/** Reads the headers of all files of a model. @throws FormatError with a message that names the file */
export async function inspectModel<F extends ModelFile>(
  files: readonly F[],
  open: Open<F> = openStart,
): Promise<InspectedModel<F>> {
  if (files.length > MAX_FILES)
    throw new FormatError(`${files.length} files were given; ${MAX_FILES} are allowed`);
  const { parts, roles } = await readFiles(files, open);
  const [, another] = [...roles].filter(([, role]) => role === 'projector');
  if (another)
    throw new FormatError(
      `${another[0].name} is a second image part of one model: add the model with one of them`,
    );
  const sorted = parts.toSorted((a, b) => (a.traits.split?.index ?? 0) - (b.traits.split?.index ?? 0));
  const [first] = sorted;
  if (!first)
    throw new FormatError(
      files.length === 0
        ? 'No file was given'
        : `${files[0]?.name} is no model by itself: add it together with its model`,
    );
  const count = first.traits.split?.count ?? 1;
  const complete =
    sorted.length === count &&
    sorted.every(({ traits: { split } }, at) => (split?.index ?? 0) === at && (split?.count ?? 1) === count);
  if (!complete) throw incomplete(first.file.name, count, parts.length);
  const tensors = countTensors(sorted);
  if (count > 1) refuseAdapters(roles);
  const kept = [...sorted.map(({ file }) => file), ...roles.keys()];
  return {
    traits: { ...first.traits, tensors },
    name: (first.traits.name ?? (printable(baseName(first.file.name)) || 'model')).slice(0, MAX_NAME_LENGTH),
    files: kept,
    roles,
    bytes: kept.reduce((total, { size }) => total + size, 0),
  };
}

function refuseAdapters(roles: ReadonlyMap<ModelFile, FileRole>): void {
  const [adapter] = [...roles].find(([, role]) => role === 'adapter') ?? [];
  if (adapter)
    throw new FormatError(
      `${adapter.name} is a LoRA adapter, which works with a model of one file: join the model's parts with llama-gguf-split --merge`,
    );
}

async function readFiles<F extends ModelFile>(
  files: readonly F[],
  open: Open<F>,
): Promise<{ parts: Part<F>[]; roles: Map<F, FileRole> }> {
  const parts: Part<F>[] = [];
  const roles = new Map<F, FileRole>();
  for (const file of files) {
    try {
      const part = (files.length > 1 ? readPartOrOther : partOf)(await open(file));
      if (typeof part === 'string') roles.set(file, part);
      else if (!file.optional) parts.push({ file, ...part });
    } catch (error) {
      if (!file.optional || !(error instanceof FormatError)) throw named(file, error);
    }
  }
  return { parts, roles };
}

/** llama.cpp's architecture name for image and audio projectors. */
const PROJECTOR = 'clip';
/** Architectures whose image tokens attend to each other, which requires larger batches than localtext uses. */
const NEEDS_LARGE_BATCHES = /^gemma/;

/** Strength of a LoRA adapter. Real ones have some hundreds at most. */
const ALPHA = 'adapter.lora.alpha';
const MAX_ALPHA = 65_536;

/** Reads a part of the model, or the role of another file. */
function readPartOrOther(opened: OpenGguf): Omit<Part<unknown>, 'file'> | FileRole {
  const { header: gguf } = opened;
  const value = (key: string): unknown => gguf.metadata.get(key)?.value;
  if (value('general.type') === 'adapter') {
    requireTensors(gguf);
    const alpha = value(ALPHA) ?? 0;
    if (!(Math.abs(Number(alpha)) <= MAX_ALPHA)) throw new FormatError(`gives ${String(alpha)} as ${ALPHA}`);
    return 'adapter';
  }
  if (value('general.architecture') !== PROJECTOR) return partOf(opened);
  if (!gguf.tensors.some(({ name }) => name.startsWith('v.')))
    throw new FormatError('is the audio part of a model: models that hear are not supported. Leave it out');
  const type = value('clip.vision.projector_type') ?? value('clip.projector_type');
  if (typeof type === 'string' && NEEDS_LARGE_BATCHES.test(type))
    throw new FormatError(`is the image part of a ${type} model, which is not supported. Leave it out`);
  requireTensors(gguf);
  return 'projector';
}

function partOf({ header: gguf, cursor }: OpenGguf): Omit<Part<unknown>, 'file'> {
  return {
    traits: ggufTraits(gguf, cursor),
    tensorNames: gguf.tensors.map(({ name }) => name),
    tensorCount: gguf.metadata.get('split.tensors.count')?.value,
  };
}

/** Counts the tensors of all parts. llama.cpp requires unique names, and the number that the first part gives. */
function countTensors(parts: readonly Part<ModelFile>[]): number {
  const names = new Set<string>();
  for (const { file, tensorNames } of parts) {
    const twice = tensorNames.find((name) => names.has(name));
    if (twice !== undefined)
      throw new FormatError(
        `${file.name} has the tensor ${printable(twice, 100)} of another part: the parts are not of one model`,
      );
    for (const name of tensorNames) names.add(name);
  }
  const [first] = parts;
  if (typeof first?.tensorCount === 'number' && first.tensorCount !== names.size)
    throw new FormatError(
      `${first.file.name} says that its parts have ${first.tensorCount} tensors, and they have ${names.size}: the parts are not of one model`,
    );
  return names.size;
}

/** `folder/SmolLM2.Q8_0-00001-of-00003.gguf` → `SmolLM2.Q8_0` */
const baseName = (path: string): string =>
  (path.split('/').at(-1) ?? '').replace(/\.gguf$/i, '').replace(/-\d{5}-of-\d{5}$/, '');

function named({ name }: ModelFile, error: unknown): unknown {
  if (error instanceof FormatError) return new FormatError(`${name} ${error.message}`);
  // The file is a folder, or was moved or changed after it was chosen.
  if (error instanceof DOMException) return new FormatError(`${name} cannot be read (${error.name})`);
  return error;
}

const incomplete = (name: string, count: number, partCount: number): FormatError =>
  new FormatError(
    count === 1
      ? `${partCount} files were given, and ${name} is a whole model: add one model at a time`
      : `${name} is a part of a model of ${count} files, and ${partCount} were given: add each of them once`,
  );
