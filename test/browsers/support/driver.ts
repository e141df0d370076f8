export interface LaunchOptions {
  /** Opens private windows. WebKitGTK's are always private when they are automated. */
  isPrivate?: boolean;
  /** A service worker stops after 2 s without an event, where the browser lets that be set (Firefox: 30 s). */
  stopsIdleWorkers?: boolean;
  /** Firefox alters what pages read from canvases (`privacy.resistFingerprinting`). */
  altersCanvases?: boolean;
  /** WebKitGTK leaves out the compiler that optimizes WASM: it takes 9 s of a processor at each load of llama.cpp. */
  computesLittle?: boolean;
}

/** A browser under test. Each implementation runs one real browser with a fresh profile. */
export interface Browser {
  open(url: string): Promise<Tab>;
  /** Has the browser stop the tab's service worker, as it does with one that is idle. The tab may be left blank. */
  stopServiceWorker(tab: Tab): Promise<void>;
  close(): Promise<void>;
}

/** One tab. What it returns and takes crosses a protocol: plain data only. */
export interface Tab {
  goto(url: string): Promise<void>;
  reload(): Promise<void>;
  /** Runs the function in the page and awaits what it returns; it sees nothing but its argument. */
  evaluate<Value, Argument = undefined>(
    run: (argument: Argument) => Value | Promise<Value>,
    argument?: Argument,
  ): Promise<Value>;
  press(key: 'Tab' | 'Enter'): Promise<void>;
  resize(width: number, height: number): Promise<void>;
  /** A PNG file. */
  screenshot(): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** How long a function may run in a page, in milliseconds. */
export const SCRIPT_TIMEOUT_MS = 120_000;

/** Polls the page until the function returns something truthy. */
export async function waitFor<Value, Argument = undefined>(
  tab: Tab,
  run: (argument: Argument) => Value | Promise<Value>,
  argument?: Argument,
  timeoutMs = 30_000,
): Promise<Value> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const value = await tab.evaluate(run, argument);
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`Not true within ${timeoutMs} ms: ${run.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
