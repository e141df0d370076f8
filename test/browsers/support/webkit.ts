import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { Builder, Key, type WebDriver } from 'selenium-webdriver';

import { groupBytes } from '../../support/process-memory.ts';
import { freePort } from '../../support/static-site.ts';
import { SCRIPT_TIMEOUT_MS, type Browser, type LaunchOptions, type Tab } from './driver.ts';
import { findProgram } from './find-program.ts';
import { startProcess, startScreen } from './processes.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const IDLE_MS = 15_000;

/** The browser's own bar would keep the window from being as narrow as a phone. */
const SMALL_BAR = '* { min-width: 0; min-height: 0; padding: 0; margin: 0; font-size: 3px; }';

interface WebKitOptions extends Pick<LaunchOptions, 'computesLittle'> {
  /** Enables SharedArrayBuffer, which Debian's build lacks by default. */
  sharedMemory?: boolean;
  /** What its script engine takes the device's memory for: with more, it collects later. */
  deviceBytes?: number;
}

/** WebKitGTK's MiniBrowser on a virtual screen. */
export async function launchWebKit(options: WebKitOptions = {}): Promise<WebKit> {
  const { sharedMemory, deviceBytes, computesLittle } = options;
  const miniBrowser = findProgram('miniBrowser');
  const screen = await startScreen();
  const port = await freePort();
  const config = await tempFolder('webkit');
  await mkdir(join(config, 'gtk-3.0'));
  await writeFile(join(config, 'gtk-3.0/gtk.css'), SMALL_BAR);
  const service = startProcess(findProgram('webkitDriver'), [`--port=${port}`], {
    DISPLAY: screen.display,
    XDG_CONFIG_HOME: config,
    // Its sandbox does not start for root.
    ...(process.getuid?.() === 0 && { WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1' }),
    ...(computesLittle && { JSC_useOMGJIT: '0' }),
    ...(sharedMemory && { JSC_useSharedArrayBuffer: '1' }),
    ...(deviceBytes && { JSC_forceRAMSize: String(deviceBytes) }),
  });
  const stop = async (): Promise<void> => {
    await service.stop();
    await screen.stop();
    await rm(config, { recursive: true, force: true });
  };
  try {
    const driver = await connect(port, miniBrowser);
    await driver.manage().setTimeouts({ script: SCRIPT_TIMEOUT_MS, pageLoad: 60_000 });
    return new WebKit(driver, service.pid, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

async function connect(port: number, binary: string): Promise<WebDriver> {
  const capabilities = {
    browserName: 'MiniBrowser',
    'webkitgtk:browserOptions': { binary, args: ['--automation'] },
  };
  for (let attempt = 1; ; attempt++) {
    try {
      return await new Builder()
        .usingServer(`http://127.0.0.1:${port}`)
        .withCapabilities(capabilities)
        .forBrowser('MiniBrowser')
        .build();
    } catch (error) {
      // The driver may not listen yet.
      if (attempt === 20 || !String(error).includes('ECONNREFUSED')) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** WebDriver has one current window: each command selects its own first, one command after another. */
export class WebKit implements Browser {
  readonly #driver: WebDriver;
  readonly #stop: () => Promise<void>;
  readonly #group: number;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(driver: WebDriver, group: number, stop: () => Promise<void>) {
    this.#driver = driver;
    this.#group = group;
    this.#stop = stop;
  }

  async open(url: string): Promise<Tab> {
    const handle = await this.#next(async (driver) => {
      const [first = ''] = await driver.getAllWindowHandles();
      await driver.switchTo().window(first);
      await driver.switchTo().newWindow('window');
      await driver.get(url);
      return driver.getWindowHandle();
    });
    return this.#tab(handle);
  }

  /** WebKit stops a service worker some time after its last page is gone. */
  async stopServiceWorker(tab: Tab): Promise<void> {
    await tab.goto('about:blank');
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  }

  /** Bytes that its processes of one program hold in memory. */
  memory(program: string): Promise<number> {
    return groupBytes(this.#group, program);
  }

  async close(): Promise<void> {
    await this.#next((driver) => driver.quit()).catch(() => {});
    await this.#stop();
  }

  #next<Value>(work: (driver: WebDriver) => Promise<Value>): Promise<Value> {
    const result = this.#turn.then(() => work(this.#driver));
    this.#turn = result.catch(() => {});
    return result;
  }

  #tab(handle: string): Tab {
    const within = <Value>(work: (driver: WebDriver) => Promise<Value>): Promise<Value> =>
      this.#next(async (driver) => {
        await driver.switchTo().window(handle);
        return work(driver);
      });
    return {
      goto: (url) => within((driver) => driver.get(url)),
      reload: () => within((driver) => driver.navigate().refresh()),
      evaluate: (run, argument) => within((driver) => evaluate(driver, run.toString(), argument)),
      press: (key) =>
        within((driver) =>
          driver
            .actions()
            .sendKeys(key === 'Tab' ? Key.TAB : Key.ENTER)
            .perform(),
        ),
      resize: (width, height) => within((driver) => resize(driver, width, height)),
      screenshot: async () => Buffer.from(await within((driver) => driver.takeScreenshot()), 'base64'),
      close: () => within((driver) => driver.close()),
    };
  }
}

async function evaluate<Value>(driver: WebDriver, source: string, argument: unknown): Promise<Value> {
  const script = `const [argument, done] = arguments;
    (async () => (${source})(argument))().then(
      (value) => done({ value }),
      (error) => done({ error: String(error?.stack || error) + ' ' + String(error) }),
    );`;
  const reply = await driver.executeAsyncScript<{ value: Value; error?: string }>(script, argument ?? null);
  if (reply.error !== undefined) throw new Error(reply.error);
  return reply.value;
}

/** WebDriver sets the window's size, and the page is smaller by the browser's own bars. It may follow a moment later. */
async function resize(driver: WebDriver, width: number, height: number): Promise<void> {
  const window = driver.manage().window();
  let bars = [0, 0];
  for (let attempt = 0; attempt < 20; attempt++) {
    await window.setRect({ x: 0, y: 0, width: width + (bars[0] ?? 0), height: height + (bars[1] ?? 0) });
    await new Promise((resolve) => setTimeout(resolve, 50));
    const [innerWidth, innerHeight, outerWidth, outerHeight] = await driver.executeScript<
      [number, number, number, number]
    >('return [innerWidth, innerHeight, outerWidth, outerHeight]');
    if (innerWidth === width && innerHeight === height) return;
    bars = [outerWidth - innerWidth, outerHeight - innerHeight];
  }
  throw new Error(`The window cannot be ${width} by ${height} pixels.`);
}
