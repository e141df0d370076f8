import { launchChromium } from './chromium.ts';
import type { Browser, LaunchOptions } from './driver.ts';
import { launchFirefox } from './firefox.ts';
import { launchWebKit } from './webkit.ts';

interface Choice {
  name: string;
  /** Installs the browser where that is possible. */
  launch(options?: LaunchOptions): Promise<Browser>;
}

const choices: readonly Choice[] = [
  { name: 'chromium', launch: launchChromium },
  { name: 'firefox', launch: launchFirefox },
  { name: 'webkit', launch: launchWebKit },
];

/** All browsers, or those that LOCALTEXT_BROWSERS names, separated by commas. */
export function selectedBrowsers(): readonly Choice[] {
  const asked = (process.env['LOCALTEXT_BROWSERS'] ?? '').split(',').filter(Boolean);
  const known = choices.map(({ name }) => name);
  const unknown = asked.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new Error(`Unknown browser: ${unknown.join(', ')}. Choose from ${known.join(', ')}.`);
  return choices.filter(({ name }) => asked.length === 0 || asked.includes(name));
}
