import localtext from 'localtext/vite';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [localtext({ isolation: ['./'] })],
  // The scripts await at their top level.
  build: { target: 'es2023' },
});
