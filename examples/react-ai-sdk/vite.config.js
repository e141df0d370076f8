import localtext from 'localtext/vite';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [localtext({ isolation: ['./'] })],
  oxc: { jsx: { runtime: 'automatic' } },
  build: { target: 'es2023' },
});
