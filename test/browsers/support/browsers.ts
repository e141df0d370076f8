import { launchChromium } from './chromium.ts';
import type { Browser, LaunchOptions } from './driver.ts';
import { launchFirefox } from './firefox.ts';
import { launchWebKit } from './webkit.ts';

type Launch = (options?: LaunchOptions) => Promise<Browser>;

const launchers: Record<string, Launch> = {
  chromium: launchChromium,
  firefox: launchFirefox,
  webkit: () => launchWebKit(),
};

/** All browsers, or those that LOCALTEXT_BROWSERS names, separated by commas. */
export function selectedBrowsers(): { name: string; launch: Launch }[] {
  const asked = (process.env['LOCALTEXT_BROWSERS'] ?? '').split(',').filter(Boolean);
  const unknown = asked.filter((name) => !(name in launchers));
  if (unknown.length > 0) {
    const known = Object.keys(launchers).join(', ');
    throw new Error(`Unknown browser: ${unknown.join(', ')}. Choose from ${known}.`);
  }
  return Object.entries(launchers)
    .filter(([name]) => asked.length === 0 || asked.includes(name))
    .map(([name, launch]) => ({ name, launch }));
}
