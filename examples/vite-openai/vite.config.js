import localtext from 'localtext/vite';
import { defineConfig } from 'vite';

export default defineConfig({
  // Any base works: the service worker and the weights follow it.
  base: '/app/',
  plugins: [localtext({ isolation: ['./'] })],
  build: { target: 'es2023' },
});
