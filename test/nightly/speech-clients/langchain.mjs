// `langchain.mjs <base URL> <key> <clip>`, in a folder with the packages: what LangChain's loader makes of a clip, as JSON.
import { OpenAIWhisperAudio } from '@langchain/community/document_loaders/fs/openai_whisper_audio';

const [baseURL, apiKey, clip] = process.argv.slice(2);
const loader = new OpenAIWhisperAudio(clip, {
  clientOptions: { baseURL, apiKey },
  transcriptionCreateParams: { model: 'coral-wren-4', language: 'en' },
});
const documents = await loader.load();
console.log(JSON.stringify(documents.map(({ pageContent }) => pageContent)));
