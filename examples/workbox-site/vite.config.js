import localtext from 'localtext/vite';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [localtext({ serviceWorker: 'src/sw.js' })],
  build: { target: 'es2023' },
});
