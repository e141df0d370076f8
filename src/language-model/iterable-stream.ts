/** Lets `for await` read a stream, as pages written for Chrome do, in browsers whose streams have no iterator (Safari). */
export function iterable<T>(stream: ReadableStream<T>): ReadableStream<T> {
  if (Symbol.asyncIterator in ReadableStream.prototype) return stream;
  return Object.defineProperty(stream, Symbol.asyncIterator, { value: () => pieces(stream.getReader()) });
}

async function* pieces<T>(reader: ReadableStreamDefaultReader<T>): AsyncGenerator<T> {
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel();
  }
}
