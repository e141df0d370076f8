import { contextLengthExceeded, deviceLost, requestError, serverError, ServiceError } from '#base';
import { isOutOfMemory } from '#engine-kit';

const FAILED = 'The model failed on this request. Try again, or use another model.';
const NOT_COMPILED =
  'The output format cannot be enforced by this model: its schema or grammar uses a feature that the grammar compiler lacks. Simplify it.';

const NUMBERS = /prompt tokens: (\d+)[^]*window size: (\d+)/;

/** Translates web-llm's error during a job for the client. web-llm exports no error classes, but their names are stable. */
export function asJobFailure(error: unknown, cachedTokens: number): ServiceError {
  if (error instanceof ServiceError) return error;
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  switch (name) {
    case 'ContextWindowSizeExceededError': {
      const [, prompt = '0', limit = '0'] = NUMBERS.exec(message) ?? [];
      return contextLengthExceeded(Number(prompt) + cachedTokens, Number(limit));
    }
    case 'GrammarMatcherInitError':
      return requestError(400, NOT_COMPILED, 'unsupported_value', 'response_format');
    case 'ModelNotLoadedError':
    case 'DeviceLostError':
      return deviceLost(error);
    default:
      return serverError('engine_failed', FAILED, error);
  }
}

/** Translates web-llm's error during a load to an error after which the next variant is tried. */
export function asLoadFailure(
  error: unknown,
  name: string,
  library: string,
  deviceOpened: boolean,
): ServiceError {
  if (error instanceof ServiceError) return error;
  const thrown = error instanceof Error ? error : new Error(String(error));
  const { message } = thrown;
  if (thrown.name === 'DeviceLostError' || isOutOfMemory(message)) {
    const why = `The GPU has too little memory for ${name}, also with its smallest context. Close other pages, or use a smaller model.`;
    return serverError('out_of_memory', why, error);
  }
  if (thrown.name === 'ShaderF16SupportError') return lacksFeature(name, 'shader-f16', error);
  if (thrown.name === 'FeatureSupportError')
    return lacksFeature(name, /feature ([\w-]+)/.exec(message)?.[1] ?? 'a feature', error);
  if (thrown.name === 'WebGPUNotAvailableError' || /compatible GPU|Cannot initialize runtime/.test(message))
    return noGpu(name, error);
  const fault = libraryFault(thrown, name, library) ?? (deviceOpened ? undefined : notRun(library));
  if (fault !== undefined) return serverError('weights_corrupt', fault, error);
  const why = message.replaceAll(/\s+/g, ' ').slice(0, 200);
  return serverError('engine_failed', `${name} could not be loaded on this GPU: ${why}`, error);
}

function libraryFault(error: Error, name: string, library: string): string | undefined {
  if (error instanceof WebAssembly.CompileError || error instanceof WebAssembly.LinkError)
    return `The model library ${library} cannot be run: it is cut short, or built for another version of web-llm.`;
  if (/Cannot find (function|parameter|param)|VMFunction|required function|_metadata/i.test(error.message))
    return `The model library ${library} does not belong to the weights of ${name}.`;
  return undefined;
}

/** Fault of a library that fails before a GPU is opened: MLC's own libraries do not. */
const notRun = (library: string): string => `web-llm cannot run the model library ${library}.`;

export function noGpu(name: string, cause?: unknown): ServiceError {
  const message = `${name} needs WebGPU with a GPU that can run it, and this browser offers none.`;
  return serverError('device_unsupported', message, cause);
}

export function lacksFeature(name: string, feature: string, cause?: unknown): ServiceError {
  const message = `${name} needs ${feature}, which this GPU lacks. Its f32 build runs without.`;
  return serverError('device_unsupported', message, cause);
}
