/**
 * A response whose body ends with the code `connection_broken` where its connection does: browsers then throw
 * TypeErrors in words of their own, as they do for faults of programs.
 */
export function nameBreaks(response: Response): Response {
  const reader = response.body?.getReader();
  if (!reader) return response;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read().catch(broken);
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(body, response);
}

function broken(error: unknown): never {
  if (!(error instanceof TypeError)) throw error;
  throw Object.assign(new Error(error.message, { cause: error }), { code: 'connection_broken' });
}
