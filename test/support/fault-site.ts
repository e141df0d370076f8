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
  readonly #path: string;

  private constructor(site: AlteredSite, path: string) {
    this.#site = site;
    this.#path = path;
  }

  static async start(origin: string, path: string, body: Buffer, workerPrefix: string): Promise<FaultSite> {
    const altered = await AlteredSite.start(origin, { isolated: true });
    const site = new FaultSite(altered, path);
    site.workerPrefix = workerPrefix;
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

  /** Other weight files that were asked for, with their ranges. */
  get others(): string[] {
    const isOther = (path: string): boolean =>
      path.startsWith('/models/') && path !== '/models/manifest.json' && !path.startsWith(this.#path);
    return this.#site.asked.filter(isOther);
  }

  /** Counts from 0 again, with this fault from now on. */
  reset(fault: FaultSite['fault'] = () => ({})): void {
    this.fault = fault;
    this.asked = [];
    this.#site.asked.length = 0;
    this.sent = 0;
  }
}
