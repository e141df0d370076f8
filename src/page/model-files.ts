import { DESCRIPTION_FILE, type ImportedFile, type ModelDescription } from '#protocol';
import { LocaltextError } from './localtext-error.ts';

/** One file of an exported model. */
export interface ExportedFile {
  /** Path below the model's own folder: `smollm2-135m-instruct/model.gguf`. */
  path: string;
  bytes: number;
  /** Reads its bytes from the store; streams. @throws LocaltextError `weights_missing` */
  open(): Promise<Response>;
}

/** Files of an export, the description first. Each is fetched below `scope` when it is opened. */
export function exportedFiles(description: ModelDescription, scope: string): ExportedFile[] {
  const text = JSON.stringify(description, null, 2);
  return [
    { path: DESCRIPTION_FILE, bytes: text.length, open: async () => new Response(text) },
    ...description.files.map(({ path, bytes }) => ({ path, bytes, open: () => openFile(path, scope) })),
  ];
}

/** @throws LocaltextError `weights_missing` for an answer that is not the file, such as a page for errors */
async function openFile(path: string, scope: string): Promise<Response> {
  const response = await fetch(new URL(`models/${path}`, scope));
  const type = response.headers.get('content-type') ?? '';
  if (response.ok && !type.startsWith('text/html')) return response;
  const message = `${path} is not stored any more (the answer was ${response.status}). Load the model, then export it again.`;
  throw new LocaltextError('weights_missing', message);
}

/** @throws LocaltextError naming every file that was refused, after all others have been taken */
export async function importFiles(
  files: Iterable<File>,
  importFile: (file: File) => Promise<ImportedFile>,
  onFile?: (file: ImportedFile) => void,
): Promise<void> {
  const all = [...files];
  const isDescription = ({ name }: File): boolean => name === DESCRIPTION_FILE;
  const refused: LocaltextError[] = [];
  for (const file of [...all.filter(isDescription), ...all.filter((each) => !isDescription(each))]) {
    try {
      const imported = await importFile(file);
      onFile?.(imported);
    } catch (error) {
      if (!(error instanceof LocaltextError)) throw error;
      refused.push(error);
    }
  }
  const [first] = refused;
  if (first) throw new LocaltextError(first.code, refused.map(({ message }) => message).join('\n'));
}
