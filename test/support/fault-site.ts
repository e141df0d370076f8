import { AlteredSite } from './altered-site.ts';
import { answerFile, type Behaviour } from './answer-file.ts';

/** The built site behind a server that serves one weight file itself, with faults, and counts what it sends of it. */
export class FaultSite {
  /** What differs from a sound server in the n-th answer, the first being 0. */
  fault: (answer: number) => Partial<Behaviour> = () => ({});
  /** Ranges of the file that were asked for. */
  asked: string[] = [];
  /** Bytes of the file's answers. */
  sent = 0;
  readonly #site: AlteredSite;

  private constructor(site: AlteredSite) {
    this.#site = site;
  }

  static async start(origin: string, path: string, body: Buffer): Promise<FaultSite> {
    const altered = await AlteredSite.start(origin, { isolated: true });
    const site = new FaultSite(altered);
    altered.handlers.set(path, async (asked, answer) => {
      const behaviour = { body, etag: '"1"', ...site.fault(site.asked.length) };
      site.asked.push(asked.headers.range ?? 'whole');
      const bytes = await answerFile(asked, answer, behaviour);
      site.sent += bytes;
    });
    return site;
  }

  get url(): string {
    return this.#site.url;
  }

  /** Put before the engine worker's script. */
  set workerPrefix(script: string) {
    this.#site.workerPrefix = script;
  }

  /** Counts from 0 again, with this fault from now on. */
  reset(fault: FaultSite['fault'] = () => ({})): void {
    this.fault = fault;
    this.asked = [];
    this.#site.asked.length = 0;
    this.sent = 0;
  }
}
