import { Agent, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } from '@openai/agents';
import { start } from 'localtext';
import { createStore, showModel, showUpdate } from 'localtext/store';
import OpenAI from 'openai';
import { z } from 'zod';

const MODEL = 'amber-phoenix-4';
const form = document.querySelector('form');
const button = document.querySelector('button');
const calls = document.querySelector('ul');
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
const { key } = await localtext.keys.ensure({ label: 'openai-agents example' });
const openai = new OpenAI({
  baseURL: localtext.baseURL,
  fetch: localtext.fetch,
  apiKey: key,
  dangerouslyAllowBrowser: true,
});
// Traces would go to OpenAI.
setTracingDisabled(true);

const rows = new Map(
  [...document.querySelectorAll('tr')].map(({ cells: [name, count] }) => [name.textContent, count]),
);
const item = z.enum([...rows.keys()]);

function show(call, result) {
  const entry = document.createElement('li');
  entry.textContent = `${call}: ${result}`;
  calls.append(entry);
  return result;
}

const countStock = tool({
  name: 'count_stock',
  description: 'Says how many pieces of an item are in stock.',
  parameters: z.object({ item }),
  execute: ({ item: name }) =>
    show(`count_stock(${name})`, `There are ${rows.get(name).textContent} ${name} in stock.`),
});

const orderItem = tool({
  name: 'order_item',
  description: 'Orders more pieces of an item from the supplier.',
  parameters: z.object({ item, pieces: z.number().int().min(1).max(500) }),
  execute({ item: name, pieces }) {
    const count = rows.get(name);
    count.textContent = Number(count.textContent) + pieces;
    return show(`order_item(${name}, ${pieces})`, `${pieces} ${name} were ordered.`);
  },
});

const agent = new Agent({
  name: 'Storekeeper',
  instructions: 'You are a storekeeper. Answer in one sentence.',
  model: new OpenAIChatCompletionsModel(openai, MODEL),
  tools: [countStock, orderItem],
  // Greedy: the arguments are in the prompt.
  modelSettings: { temperature: 0, maxTokens: 60, toolChoice: 'auto' },
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
  calls.replaceChildren();
  shown.textContent = '';
  output.textContent = 'Answering…';
  try {
    const result = await run(agent, form.elements.prompt.value, { stream: true, signal });
    for await (const text of result.toTextStream()) shown.textContent += text;
    await result.completed;
    // A screen reader reads this, and not each token.
    output.textContent = signal.aborted ? 'Stopped.' : 'The reply is complete.';
  } catch (error) {
    output.textContent = signal.aborted ? 'Stopped.' : error.message;
  } finally {
    button.disabled = false;
    stop.disabled = true;
  }
});
