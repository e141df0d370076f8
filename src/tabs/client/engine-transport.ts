/** A way to reach whichever page leads. The port that it carries ends in that page's engine worker. */
export interface EngineTransport {
  /**
   * Hands its own port to every page that may lead; those that do not, close theirs or drop it.
   * Called again, with a growing pause, until a worker has taken one.
   */
  offer(openPort: () => MessagePort): Promise<void>;
}
