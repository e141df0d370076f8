import { render } from 'preact';
import { App } from './app.tsx';
import { publishHandle } from './client/localtext.ts';
import { listenForRequests } from './requests/request-log.ts';

listenForRequests();
void publishHandle();
const root = document.getElementById('app');
if (root) {
  root.replaceChildren();
  render(<App />, root);
}
