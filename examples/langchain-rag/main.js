import { MemoryVectorStore } from '@langchain/classic/vectorstores/memory';
import { ChatPromptTemplate } from '@langchain/core/prompts';
import { StringOutputParser } from '@langchain/core/output_parsers';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { start } from 'localtext';

const form = document.querySelector('form');
const button = document.querySelector('button');
const output = document.querySelector('output');
const source = document.querySelector('#source');

const localtext = await start();
// A key names the application. This one is the same after a reload and in every tab.
const { key } = await localtext.keys.ensure({ label: 'langchain-rag example' });
const client = {
  apiKey: key,
  configuration: { baseURL: localtext.baseURL, dangerouslyAllowBrowser: true },
};

const texts = import.meta.glob('./documents/*.md', { query: '?raw', import: 'default', eager: true });
const store = await MemoryVectorStore.fromTexts(
  Object.values(texts),
  Object.keys(texts).map((path) => ({ path })),
  new OpenAIEmbeddings({ ...client, model: 'jade-mole-4' }),
);

const prompt = ChatPromptTemplate.fromMessages([
  ['system', 'Answer in one sentence, from this text alone:\n\n{context}'],
  ['user', '{question}'],
]);
const chain = prompt
  .pipe(new ChatOpenAI({ ...client, model: 'amber-phoenix-4', temperature: 0, maxTokens: 60 }))
  .pipe(new StringOutputParser());

output.textContent = 'Ready. The first answer loads the chat model.';
button.disabled = false;

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  button.disabled = true;
  output.textContent = '';
  try {
    const question = form.elements.prompt.value;
    const [found] = await store.similaritySearch(question, 1);
    source.textContent = found.metadata.path;
    const reply = await chain.stream({ question, context: found.pageContent });
    for await (const text of reply) output.textContent += text;
  } catch (error) {
    output.textContent = error.message;
  } finally {
    button.disabled = false;
  }
});
