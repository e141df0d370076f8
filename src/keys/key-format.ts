/**
 * A key: `lt_`, 256 random bits and a checksum of 24 bits, base64url: 3 + 43 + 4 characters. The checksum
 * detects typos.
 */
const SHAPE = /^lt_([A-Za-z0-9_-]{43})([A-Za-z0-9_-]{4})$/;

export async function createKey(): Promise<string> {
  const body = base64url(crypto.getRandomValues(new Uint8Array(32)));
  return `lt_${body}${await checksum(body)}`;
}

/** Whether shape and checksum are right. The key may still be unknown. */
export async function isWholeKey(key: string): Promise<boolean> {
  const [, body, sum] = SHAPE.exec(key) ?? [];
  return body !== undefined && (await checksum(body)) === sum;
}

/** What is stored: SHA-256 of the whole key, base64url. 256 random bits need no salt and no slow hash. */
export async function hashKey(key: string): Promise<string> {
  return base64url(await sha256(key));
}

async function checksum(body: string): Promise<string> {
  // Not the text whose hash is stored, so that the checksum reveals nothing of that hash.
  const digest = await sha256(`localtext key checksum ${body}`);
  return base64url(digest.subarray(0, 3));
}

async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
