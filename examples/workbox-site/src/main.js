import { start } from 'localtext';
import { createStore, showModel, showUpdate } from 'localtext/store';

const MODEL = 'amber-phoenix-4';
const form = document.querySelector('form');
const button = document.querySelector('button');
const stop = document.querySelector('#stop');
const output = document.querySelector('output');

// Shows a first visit's download: its size, its progress and a button to cancel it. After this, the weights are in
// the browser's own storage: the next visit needs no network.
// The site registers its own worker, as it always has, and hands the registration on. Browsers without service workers
// have no registration: then start() says so.
const register = () => navigator.serviceWorker?.register(`${import.meta.env.BASE_URL}sw.js`);
const store = createStore(async () => start({ serviceWorker: await register() }));
// Says when a new build of the site is ready: a plain reload shows the earlier one.
showUpdate(store, document.querySelector('.update'));
await showModel(store, MODEL, document.querySelector('.model'));
const localtext = await store.start();
const { key } = await localtext.keys.ensure({ label: 'workbox-site example' });

button.disabled = false;

let controller;
stop.addEventListener('click', () => controller.abort());

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  button.disabled = true;
  stop.disabled = false;
  controller = new AbortController();
  const { signal } = controller;
  output.textContent = 'Answering…';
  try {
    // Use `localtext.fetch`, so that an answer that does not stream can be stopped.
    const response = await localtext.fetch(`${localtext.baseURL}/chat/completions`, {
      method: 'POST',
      signal,
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` },
      body: JSON.stringify({
        model: MODEL,
        messages: [
          { role: 'system', content: 'You are a helpful assistant. Answer in one short English sentence.' },
          { role: 'user', content: form.elements.prompt.value },
        ],
        // Its model card's. Greedy replies repeat themselves.
        temperature: 0.2,
        max_tokens: 60,
      }),
    });
    const answer = await response.json();
    output.textContent = answer.error?.message ?? answer.choices[0].message.content;
  } catch (error) {
    output.textContent = signal.aborted ? 'Stopped.' : error.message;
  } finally {
    button.disabled = false;
    stop.disabled = true;
  }
});
