import { start } from 'localtext';
import { createStore, showModel } from 'localtext/store';
import OpenAI from 'openai';

const MODEL = 'amber-phoenix-4';
const form = document.querySelector('form');
const button = document.querySelector('button');
const output = document.querySelector('output');

// The size of the download, its progress and a button to cancel it: what a first visit shows.
const store = createStore(() => start({ base: './' }));
await showModel(store, MODEL, document.querySelector('.model'));
const localtext = await store.start();
// A key names the application. This one is the same after a reload and in every tab.
const { key } = await localtext.keys.ensure({ label: 'webpack example' });
const openai = new OpenAI({
  baseURL: localtext.baseURL,
  fetch: localtext.fetch,
  apiKey: key,
  dangerouslyAllowBrowser: true,
});

button.disabled = false;

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  button.disabled = true;
  output.textContent = '';
  try {
    const stream = await openai.chat.completions.create({
      model: MODEL,
      messages: [
        { role: 'system', content: 'You are a helpful assistant.' },
        { role: 'user', content: form.elements.prompt.value },
      ],
      // Greedy: at its model card's 0.2, a model this small may answer in another language.
      temperature: 0,
      max_tokens: 100,
      stream: true,
    });
    for await (const chunk of stream) output.textContent += chunk.choices[0]?.delta.content ?? '';
  } catch (error) {
    output.textContent = error.message;
  } finally {
    button.disabled = false;
  }
});
