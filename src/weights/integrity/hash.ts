import { createSHA256 } from 'hash-wasm';

export interface Hash {
  update(bytes: Uint8Array): void;
  /** Hex. */
  digest(): string;
}

/** SHA-256 that takes its bytes as they come: 100 MB in about 0.25 s (WebCrypto requires them all at once). */
export async function startHash(): Promise<Hash> {
  const hasher = await createSHA256();
  hasher.init();
  return { update: (bytes) => void hasher.update(bytes), digest: () => hasher.digest('hex') };
}
