import { addError, choose, lookUp, sourceText } from '../client/added-models.ts';
import { hubAllowed } from '../client/model-hub.ts';
import { parseSource } from './parse-source.ts';

/** Handles dropped or pasted data. @returns whether it can be a model */
export function takeTransfer(transfer: DataTransfer): boolean {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.());
  const folder = entries.find((entry) => entry?.isDirectory);
  if (folder) {
    addError.value = `${folder.name} is a folder. Open it, and drop its GGUF files: all parts of a split model together.`;
    return true;
  }
  const files = [...transfer.files];
  if (files.length > 0) {
    void choose(files, files.map(({ name }) => name).join(', '));
    return true;
  }
  const text = transfer.getData('text/plain');
  const source = parseSource(text);
  if (!source) return false;
  sourceText.value = text.trim();
  if ('hub' in source && hubAllowed.peek()) void lookUp(source);
  return true;
}
