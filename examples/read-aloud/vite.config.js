import localtext from 'localtext/vite';
import { defineConfig } from 'vite';

export default defineConfig({ plugins: [localtext({ isolation: ['./'] })], build: { target: 'es2023' } });
