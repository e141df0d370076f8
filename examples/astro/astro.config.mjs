import { defineConfig } from 'astro/config';
import localtext from 'localtext/vite';

export default defineConfig({
  base: '/astro/',
  // Pages above the service worker's scope, as /astro is, cannot use it.
  trailingSlash: 'always',
  devToolbar: { enabled: false },
  vite: { plugins: [localtext({ isolation: ['./'] })], build: { target: 'es2023' } },
});
