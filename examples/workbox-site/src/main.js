import { start } from 'localtext';
import { createStore, showModel } from 'localtext/store';

const MODEL = 'amber-phoenix-4';
const form = document.querySelector('form');
const button = document.querySelector('button');
const output = document.querySelector('output');

// The site registers its own worker, as it always has, and hands the registration on.
const registration = await navigator.serviceWorker.register(`${import.meta.env.BASE_URL}sw.js`);
// The size of the download, its progress and a button to cancel it: what a first visit shows. After this, the weights are in
// the browser's own storage: the next visit needs no network.
const store = createStore(() => start({ serviceWorker: registration }));
await showModel(store, MODEL, document.querySelector('.model'));
const localtext = await store.start();
const { key } = await localtext.keys.ensure({ label: 'workbox-site example' });

button.disabled = false;

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  button.disabled = true;
  output.textContent = '…';
  try {
    const response = await fetch(`${localtext.baseURL}/chat/completions`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` },
      body: JSON.stringify({
        model: MODEL,
        messages: [
          { role: 'system', content: 'You are a helpful assistant.' },
          { role: 'user', content: form.elements.prompt.value },
        ],
        // Greedy: at its model card's 0.2, a model this small may answer in another language.
        temperature: 0,
        max_tokens: 60,
      }),
    });
    const answer = await response.json();
    output.textContent = answer.error?.message ?? answer.choices[0].message.content;
  } catch (error) {
    output.textContent = error.message;
  } finally {
    button.disabled = false;
  }
});
