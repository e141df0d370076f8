import { sveltekit } from '@sveltejs/kit/vite';
import localtext from 'localtext/vite';

export default {
  plugins: [sveltekit(), localtext({ isolation: ['./'] })],
  build: { target: 'es2023' },
};
