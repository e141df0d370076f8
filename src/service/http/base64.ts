/** ES2026, in browsers of 2025 and later: 60 times as fast as `btoa`. */
interface Encodable extends Uint8Array {
  toBase64?(): string;
}

/** Bytes that become arguments of one call. */
const CHUNK = 0x8000;

export function toBase64(bytes: Encodable): string {
  if (bytes.toBase64) return bytes.toBase64();
  let binary = '';
  for (let at = 0; at < bytes.length; at += CHUNK)
    binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(binary);
}
