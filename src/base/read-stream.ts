import { abortable } from './async.ts';

/** Most bodies are smaller; hundreds at once would otherwise take megabytes. */
const FIRST_BUFFER_BYTES = 2048;

/**
 * Reads a stream to its end. The chunks are not kept: a body of single bytes would take a hundred times its
 * size.
 * @param tooLarge makes the error for a stream of more than `maxBytes`, which is cancelled
 * @throws the signal's reason when aborted
 */
export async function readStream(
  stream: ReadableStream<Uint8Array>,
  maxBytes: number,
  tooLarge: () => Error,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = stream.getReader();
  let bytes = new Uint8Array(FIRST_BUFFER_BYTES);
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await abortable(reader.read(), signal);
      if (done) return bytes.subarray(0, length);
      if (length + value.length > maxBytes) throw tooLarge();
      if (length + value.length > bytes.length) bytes = enlarged(bytes, length + value.length);
      bytes.set(value, length);
      length += value.length;
    }
  } catch (error) {
    void reader.cancel().catch(() => {});
    throw error;
  }
}

function enlarged(bytes: Uint8Array<ArrayBuffer>, length: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.max(length, 2 * bytes.length));
  larger.set(bytes);
  return larger;
}

/** Leaves an answer unread: kept open, it would hold one of the few connections that a browser opens to a host. */
export const dropBody = ({ body }: Response): void => void body?.cancel().catch(() => undefined);
