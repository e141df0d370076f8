import { chromium, type BrowserContext } from 'playwright';

import { atEnd } from './at-end.ts';
import { findBrowser } from './find-browser.ts';
import { removeFolder, tempFolder } from './temp-folder.ts';

const QUIET = [
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/**
 * What Chromium requires on Linux before it offers a GPU without a screen:
 * https://developer.chrome.com/blog/supercharge-web-ai-testing
 */
const HARDWARE = [
  '--enable-unsafe-webgpu',
  ...(process.platform === 'linux'
    ? [
        '--use-angle=vulkan',
        '--enable-features=Vulkan',
        '--disable-vulkan-surface',
        // Chromium leaves shader-f16 out on NVIDIA's GPUs here; llama.cpp's kernels need it.
        '--enable-dawn-features=vulkan_enable_f16_on_nvidia',
      ]
    : []),
];

export interface LaunchOptions {
  /** `software`: SwiftShader. `hardware`: a GPU, where there is one. `none` (the default): `navigator.gpu` has no adapter. */
  webgpu?: 'software' | 'hardware' | 'none';
  /** Folder of a profile that outlives the browser; none: a fresh one, removed when it closes. */
  profile?: string;
  extraArgs?: string[];
}

/** Chromium with a profile on disk: an incognito one has less storage, and keeps it in memory. */
export async function launch(options: LaunchOptions = {}): Promise<BrowserContext> {
  const profile = options.profile ?? (await tempFolder('profile'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: findBrowser(),
    headless: true,
    // Playwright's default headless mode is another, smaller browser than the one that people use, and people's browsers
    // keep pages that were left.
    ignoreDefaultArgs: ['--headless', '--disable-back-forward-cache'],
    args: [
      '--headless=new',
      '--no-sandbox',
      ...QUIET,
      ...(options.webgpu === 'software' ? ['--enable-unsafe-webgpu'] : []),
      ...(options.webgpu === 'hardware' ? HARDWARE : []),
      ...(options.extraArgs ?? []),
    ],
  });
  atEnd(() => context.close(), true);
  if (options.profile === undefined) context.on('close', () => void removeFolder(profile));
  return context;
}
