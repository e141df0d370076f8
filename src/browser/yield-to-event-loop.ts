/** Yields to the event loop, so that messages are handled between long steps. */
export const yieldToEventLoop = (): Promise<void> =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });

let turns = Promise.resolve();

/**
 * Resolves in a turn of the event loop that no other caller gets: other requests are handled between the long
 * steps of many.
 */
export const takeTurn = (): Promise<void> => (turns = turns.then(yieldToEventLoop));
