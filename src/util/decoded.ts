/** Decodes the escapes of a part of a URL. An invalid one stands for itself, and all others with it. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
