/** ES2026, in the browsers of 2025 and later: sixty times as quick as what there was before. */
interface Encodable extends Uint8Array {
  toBase64?(): string;
}

const isLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** The float32 bytes, little-endian, as OpenAI's clients read them. */
export function toBase64(vector: Float32Array): string {
  const bytes: Encodable = isLittleEndian
    ? new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)
    : swapped(vector);
  return bytes.toBase64?.() ?? btoa(String.fromCharCode(...bytes));
}

function swapped(vector: Float32Array): Uint8Array {
  const view = new DataView(new ArrayBuffer(vector.byteLength));
  vector.forEach((value, index) => view.setFloat32(index * 4, value, true));
  return new Uint8Array(view.buffer);
}
