/** Runs `work` at most once a frame, however often it is requested. */
export function oncePerFrame(work: () => void): { request(): void; cancel(): void } {
  let frame: number | null = null;
  return {
    request() {
      frame ??= requestAnimationFrame(() => {
        frame = null;
        work();
      });
    },
    cancel() {
      if (frame !== null) cancelAnimationFrame(frame);
      frame = null;
    },
  };
}
