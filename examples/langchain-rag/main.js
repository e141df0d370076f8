import { MemoryVectorStore } from '@langchain/classic/vectorstores/memory';
import { Document } from '@langchain/core/documents';
import { ChatPromptTemplate } from '@langchain/core/prompts';
import { StringOutputParser } from '@langchain/core/output_parsers';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { RecursiveCharacterTextSplitter } from '@langchain/textsplitters';
import { start } from 'localtext';
import { createStore, showModel, showUpdate } from 'localtext/store';

const form = document.querySelector('form');
const button = document.querySelector('button');
const picker = document.querySelector('input[type=file]');
const stop = document.querySelector('#stop');
const shown = document.querySelector('.reply');
const output = document.querySelector('output');
const source = document.querySelector('#source');

// Shows a first visit's downloads: their sizes, their progress and buttons to cancel them.
const localtextStore = createStore(() => start());
// Says when a new build of the site is ready: a plain reload shows the earlier one.
showUpdate(localtextStore, document.querySelector('.update'));
const [toFind, toAnswer] = document.querySelectorAll('.model');
const readyToFind = showModel(localtextStore, 'jade-mole-4', toFind);
void showModel(localtextStore, 'amber-phoenix-4', toAnswer);
await readyToFind;
const localtext = await localtextStore.start();
// A key names the application. This one is the same after a reload and in every tab.
const { key } = await localtext.keys.ensure({ label: 'langchain-rag example' });
const client = {
  apiKey: key,
  // LangChain retries six times by default, even errors that would recur.
  maxRetries: 1,
  configuration: { baseURL: localtext.baseURL, fetch: localtext.fetch, dangerouslyAllowBrowser: true },
};

const embeddings = new OpenAIEmbeddings({ ...client, model: 'jade-mole-4' });
const store = new MemoryVectorStore(embeddings);
// A small model reads short passages best.
const splitter = new RecursiveCharacterTextSplitter({ chunkSize: 600, chunkOverlap: 60 });

const prompt = ChatPromptTemplate.fromMessages([
  ['system', 'Answer in one sentence, from this text alone:\n\n{context}'],
  ['user', '{question}'],
]);
const chain = prompt
  // Greedy: the answer is in the text.
  .pipe(new ChatOpenAI({ ...client, model: 'amber-phoenix-4', temperature: 0, maxTokens: 60 }))
  .pipe(new StringOutputParser());

output.textContent = 'Choose text files.';
picker.disabled = false;

let controller;
stop.addEventListener('click', () => controller.abort());

picker.addEventListener('change', async () => {
  picker.disabled = button.disabled = true;
  stop.disabled = false;
  controller = new AbortController();
  const { signal } = controller;
  output.textContent = 'Reading…';
  try {
    const documents = await Promise.all([...picker.files].map(readDocument));
    const passages = await splitter.splitDocuments(documents);
    // A few at a time, to show how far it is, and to stop in between.
    for (let at = 0; at < passages.length && !signal.aborted; at += 16) {
      output.textContent = `Reading: ${at} of ${passages.length} passages…`;
      await store.addDocuments(passages.slice(at, at + 16));
    }
    output.textContent = signal.aborted
      ? 'Stopped.'
      : `Read ${documents.length} files as ${passages.length} passages.`;
  } catch (error) {
    output.textContent = error.message;
  } finally {
    picker.disabled = false;
    stop.disabled = true;
    // Nothing can be found in files without text. What was read before stays.
    button.disabled = store.memoryVectors.length === 0;
  }
});

async function readDocument(file) {
  return new Document({ pageContent: await file.text(), metadata: { file: file.name } });
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  button.disabled = true;
  stop.disabled = false;
  controller = new AbortController();
  const { signal } = controller;
  shown.textContent = '';
  output.textContent = 'Answering…';
  try {
    const question = form.elements.prompt.value;
    const [found] = await store.similaritySearch(question, 1);
    source.textContent = found.metadata.file;
    const reply = await chain.stream({ question, context: found.pageContent }, { signal });
    for await (const text of reply) shown.textContent += text;
    // A screen reader reads this, and not each token.
    output.textContent = signal.aborted ? 'Stopped.' : 'The reply is complete.';
  } catch (error) {
    output.textContent = signal.aborted ? 'Stopped.' : error.message;
  } finally {
    button.disabled = false;
    stop.disabled = true;
  }
});
