import localtext from 'localtext/vite';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [localtext({ isolation: ['./'] })],
  // `page.js` awaits at its top level.
  build: { target: 'es2023' },
});
