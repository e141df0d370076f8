interface Task {
  reject(error: unknown): void;
}

/** The package's own link to its worker. Its version is pinned, and a test compares its script with our file. */
export interface WorkerProxy {
  resources: { wasmPath: string; compat: boolean; noWebGPU?: boolean };
  nbThread: number;
  useAsyncFile: boolean;
  taskId: number;
  taskQueue: Task[];
  resultQueue: Task[];
  fileBlobs: Map<string, Blob>;
  worker?: Worker;
  moduleInit(files: ModelFile[]): Promise<void>;
  onRecvMsg(event: MessageEvent): void;
  pushTask(task: { verb: string; args: unknown[]; callbackId: number }): Promise<unknown>;
  fileAlloc(name: string, bytes: number, inMemory: boolean): Promise<number>;
  fileWrite(id: number, blob: Blob): Promise<void>;
}

export interface ModelFile {
  name: string;
  blob: Blob;
}

/** Sends the worker one message. @returns its answer */
export const runTask = (proxy: WorkerProxy, verb: string, args: unknown[]): Promise<unknown> =>
  proxy.pushTask({ verb, args, callbackId: proxy.taskId++ });
