import { start } from 'localtext';
import { createStore, showModel, showUpdate } from 'localtext/store';
import OpenAI from 'openai';

const MODEL = 'amber-phoenix-4';
const form = document.querySelector('form');
const button = document.querySelector('button');
const stop = document.querySelector('#stop');
const shown = document.querySelector('.reply');
const output = document.querySelector('output');

// Shows a first visit's download: its size, its progress and a button to cancel it.
const store = createStore(() => start());
// Says when a new build of the site is ready: a plain reload shows the earlier one.
showUpdate(store, document.querySelector('.update'));
await showModel(store, MODEL, document.querySelector('.model'));
const localtext = await store.start();
// A key names the application. This one is the same after a reload and in every tab.
const { key } = await localtext.keys.ensure({ label: 'vite-openai example' });
const openai = new OpenAI({
  baseURL: localtext.baseURL,
  fetch: localtext.fetch,
  apiKey: key,
  dangerouslyAllowBrowser: true,
});

button.disabled = false;

let controller;
stop.addEventListener('click', () => controller.abort());

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  button.disabled = true;
  stop.disabled = false;
  controller = new AbortController();
  const { signal } = controller;
  shown.textContent = '';
  output.textContent = 'Answering…';
  try {
    const body = {
      model: MODEL,
      messages: [
        { role: 'system', content: 'You are a helpful assistant. Answer in one short English sentence.' },
        { role: 'user', content: form.elements.prompt.value },
      ],
      // Its model card's. Greedy replies repeat themselves.
      temperature: 0.2,
      max_tokens: 100,
      stream: true,
    };
    const stream = await openai.chat.completions.create(body, { signal });
    for await (const chunk of stream) shown.textContent += chunk.choices[0]?.delta.content ?? '';
    // A screen reader reads this, and not each token.
    output.textContent = signal.aborted ? 'Stopped.' : 'The reply is complete.';
  } catch (error) {
    output.textContent = signal.aborted ? 'Stopped.' : error.message;
  } finally {
    button.disabled = false;
    stop.disabled = true;
  }
});
