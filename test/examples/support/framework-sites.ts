/** Small sites of frameworks, in their default modes. */

/** What the site's folder has, and how it is built. */
export interface Site {
  packages: readonly string[];
  files: Readonly<Record<string, string>>;
  /** Folder of the app's modules. */
  source: string;
  /** Options of `start()`. */
  options: string;
  /** Commands that build it, for `npx`. */
  build: readonly string[];
  /** Folder of the public files. */
  publicFolder: string;
}

interface StaticSite extends Site {
  /** Folder of the build. */
  output: string;
}

interface ServerSite extends Site {
  /** The server, a script below the folder, and its arguments; the environment has PORT. */
  serve(port: string): string[];
}

/** Pages beside the first, on which the app starts. */
const OTHERS = ['about', 'later'];
const forOthers = (path: (name: string) => string, text: (name: string) => string): Record<string, string> =>
  Object.fromEntries(OTHERS.map((name) => [path(name), text(name)]));

const AT_ROOT = "{ base: '/' }";
const MANIFEST = JSON.stringify({ name: 'site', private: true, type: 'module' });

const reactRouter: ServerSite = {
  packages:
    '@react-router/dev@8.4.0 @react-router/node@8.4.0 @react-router/serve@8.4.0 react-router@8.4.0 react@19.3.0 react-dom@19.3.0 isbot@5.2.3 vite@8.3.8'.split(
      ' ',
    ),
  source: 'app',
  options: AT_ROOT,
  files: {
    'package.json': MANIFEST,
    'vite.config.js': `import { reactRouter } from '@react-router/dev/vite';
      import localtext from 'localtext/vite';
      export default { plugins: [reactRouter(), localtext({ offlinePage: 'offline.html' })] };`,
    'app/root.jsx': `import { Links, Meta, Outlet, Scripts } from 'react-router';
      export const Layout = ({ children }) => <html lang="en"><head><Meta /><Links /></head><body>{children}<Scripts /></body></html>;
      export default () => <Outlet />;`,
    'app/routes.js': `import { index, route } from '@react-router/dev/routes';
      export default [index('home.jsx'), ${OTHERS.map((name) => `route('${name}', '${name}.jsx')`).join()}];`,
    'app/home.jsx': `import { useEffect } from 'react';
      import body from './body.js';
      export const loader = () => ({ at: Date.now() });
      export default () => { useEffect(() => void import('./ask.js'), []); return <main dangerouslySetInnerHTML={{ __html: body }} />; };`,
    ...forOthers(
      (name) => `app/${name}.jsx`,
      (name) => `export const loader = () => ({ at: Date.now() });
        export const meta = () => [{ title: '${name}' }];
        export default () => <h1>${name}</h1>;`,
    ),
  },
  build: ['react-router build'],
  serve: () => ['node_modules/@react-router/serve/bin.cjs', 'build/server/index.js'],
  publicFolder: 'public',
};

const next: ServerSite = {
  packages: ['next@16.4.3', 'react@19.3.0', 'react-dom@19.3.0'],
  source: 'app',
  options: AT_ROOT,
  files: {
    'package.json': MANIFEST,
    'app/layout.jsx': `export default ({ children }) => <html lang="en"><body>{children}</body></html>;`,
    'app/page.jsx': `'use client';
      import { useEffect } from 'react';
      import body from './body.js';
      export default () => { useEffect(() => void import('./ask.js'), []); return <main dangerouslySetInnerHTML={{ __html: body }} />; };`,
    ...forOthers(
      (name) => `app/${name}/page.jsx`,
      (name) => `export const metadata = { title: '${name}' };
        export default () => <h1>${name}</h1>;`,
    ),
  },
  build: ['localtext init public --offline-page offline.html', 'next build'],
  serve: (port) => ['node_modules/next/dist/bin/next', 'start', '-p', port],
  publicFolder: 'public',
};

const nuxt: ServerSite = {
  packages: ['nuxt@4.4.5', 'vue@3.5.45'],
  source: 'app',
  options: AT_ROOT,
  files: {
    'package.json': MANIFEST,
    'nuxt.config.js': `export default { compatibilityDate: '2025-07-15', vite: { worker: { format: 'es' } } };`,
    'app/app.vue': '<template><NuxtPage /></template>',
    'app/pages/index.vue': `<script setup>
      import body from '../body.js';
      onMounted(() => import('../ask.js'));
      </script>
      <template><main v-html="body" /></template>`,
    ...forOthers(
      (name) => `app/pages/${name}.vue`,
      (name) => `<script setup>useHead({ title: '${name}' });</script><template><h1>${name}</h1></template>`,
    ),
  },
  build: ['localtext init public --offline-page offline.html', 'nuxt build'],
  serve: () => ['.output/server/index.mjs'],
  publicFolder: 'public',
};

const svelteKit: ServerSite = {
  packages:
    '@sveltejs/kit@2.70.4 @sveltejs/adapter-auto@7.0.1 @sveltejs/vite-plugin-svelte@7.3.1 svelte@5.57.3 vite@8.3.8'.split(
      ' ',
    ),
  source: 'src',
  options: AT_ROOT,
  files: {
    'package.json': MANIFEST,
    'vite.config.js': `import { sveltekit } from '@sveltejs/kit/vite';
      import localtext from 'localtext/vite';
      export default { plugins: [sveltekit(), localtext({ offlinePage: 'offline.html' })] };`,
    'svelte.config.js': `import adapter from '@sveltejs/adapter-auto';
      export default { kit: { adapter: adapter() } };`,
    'src/app.html':
      '<!doctype html><html lang="en"><head>%sveltekit.head%</head><body><div>%sveltekit.body%</div></body></html>',
    'src/routes/+page.svelte': `<script>
      import { onMount } from 'svelte';
      import body from '../body.js';
      onMount(() => void import('../ask.js'));
      </script>
      <main>{@html body}</main>`,
    ...forOthers(
      (name) => `src/routes/${name}/+page.svelte`,
      (name) => `<svelte:head><title>${name}</title></svelte:head><h1>${name}</h1>`,
    ),
  },
  build: ['vite build'],
  serve: (port) => ['node_modules/vite/bin/vite.js', 'preview', '--port', port, '--host', 'localhost'],
  publicFolder: 'static',
};

const vitePress: StaticSite = {
  packages: ['vitepress@1.6.4'],
  files: {
    'package.json': MANIFEST,
    'docs/.vitepress/config.js': `export default { titleTemplate: ':title', vite: {
      worker: { format: 'es' }, optimizeDeps: { exclude: ['localtext'] }, build: { target: 'es2023' } } };`,
    // Without the theme: the app takes the page's first button.
    'docs/index.md': `---
layout: false
---
<script setup>
import { onMounted } from 'vue';
import body from './body.js';
onMounted(() => import('./ask.js'));
</script>
<main v-html="body" />`,
    'docs/about.md': '---\ntitle: about\n---',
  },
  source: 'docs',
  options: AT_ROOT,
  build: [
    'localtext init docs/public',
    'vitepress build docs',
    'localtext init docs/.vitepress/dist --offline',
  ],
  publicFolder: 'docs/public',
  output: 'docs/.vitepress/dist',
};

export const STATIC_SITES = { VitePress: vitePress };
export const SERVER_SITES = { 'React Router': reactRouter, Next: next, Nuxt: nuxt, SvelteKit: svelteKit };
