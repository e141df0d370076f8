/**
 * Bounds llama.cpp's saved prompt states. Its server allows them 8 GiB, and the package has no parameter for that.
 *
 * @remarks
 * - Relies on: Emscripten grows the memory by `Memory.grow()`, and takes an exception for "no memory". llama.cpp's
 *   `server_prompt_cache::alloc()` catches `std::bad_alloc`, drops its oldest states down to 40 % of them, and never keeps more.
 * - Read in: @wllama/wllama 3.8.1 (llama.cpp b11364).
 * - Notices: test/browser/llama-calls.test.ts, in a real server.
 * - Then: a build that grows in another way keeps states without a bound, up to the 4 GiB of its memory. A server that does not
 *   catch the exception stops, and is loaded again.
 */
const PAGE_BYTES = 65_536;

type Grow = (this: WebAssembly.Memory, pages: number | bigint) => number | bigint;

/** Emscripten's memory with 64-bit addresses takes a `bigint`, which TypeScript's declaration lacks. */
const prototype = WebAssembly.Memory.prototype as unknown as { grow: Grow };

/** Refuses growth of any memory of this thread past so many bytes. */
export function limitMemory(maxBytes: number): void {
  const grow = originalGrow();
  prototype.grow = function limited(pages) {
    if (this.buffer.byteLength + Number(pages) * PAGE_BYTES > maxBytes)
      throw new RangeError('localtext: past the limit of saved prompt states');
    return grow.call(this, pages);
  };
}

let original: Grow | null = null;
const originalGrow = (): Grow => (original ??= prototype.grow);
