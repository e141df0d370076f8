import { defineConfig } from 'astro/config';
import localtext from 'localtext/vite';

export default defineConfig({
  base: '/astro',
  devToolbar: { enabled: false },
  vite: { plugins: [localtext()], build: { target: 'es2023' } },
});
