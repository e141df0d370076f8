import { PICTURE_TYPES } from './picture.ts';

export async function toDataUrl(blob: Blob): Promise<string> {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  const parts: string[] = [];
  // A number of arguments that every JavaScript engine accepts.
  for (let at = 0; at < bytes.length; at += 0x2000)
    parts.push(String.fromCharCode(...bytes.subarray(at, at + 0x2000)));
  return `data:${blob.type};base64,${btoa(parts.join(''))}`;
}

/** Null if it is no picture in base64. */
export function fromDataUrl(url: string): Blob | null {
  const [head = '', data] = url.split(',', 2);
  const type = PICTURE_TYPES.find((each) => head === `data:${each};base64`);
  if (type === undefined || data === undefined) return null;
  try {
    return new Blob([Uint8Array.from(atob(data), (character) => character.charCodeAt(0))], { type });
  } catch {
    return null;
  }
}
