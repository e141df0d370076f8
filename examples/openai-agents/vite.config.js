import localtext from 'localtext/vite';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [localtext({ isolation: ['./'] })],
  // The Agents SDK is 700 kB.
  build: { target: 'es2023', chunkSizeWarningLimit: 1_000 },
});
