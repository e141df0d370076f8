"""Chat and embeddings in OpenAI's shape on a Ray cluster: `serve run serve.yaml`."""

import base64
import json
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

import aiohttp
import numpy
from fastapi import FastAPI, Request
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel
from ray import serve
from ray.exceptions import RayError
from ray.serve.exceptions import BackPressureError

MODELS = Path(os.environ.get("MODELS_FOLDER", Path(__file__).parents[2] / "public/models"))
CHAT_MODEL, EMBEDDING_MODEL = "smollm2-135m-instruct", "all-minilm-l6-v2"
RETRY_AFTER_S = 2


class Replica:
    """A replica of a chat deployment: an OpenAI-compatible server on a loopback port."""

    def connect(self, address: str, key: str):
        timeout = aiohttp.ClientTimeout(total=None)
        self.http = aiohttp.ClientSession(address, headers={"authorization": f"Bearer {key}"}, timeout=timeout)

    async def check_health(self):
        async with self.http.get("/health", timeout=aiohttp.ClientTimeout(total=5)) as response:
            response.raise_for_status()

    async def answer(self, path: str, body: bytes):
        """Yields the status and the content type, then the bytes as they come. Closing it frees the slot."""
        headers = {"content-type": "application/json"}
        async with self.http.post(path, data=body, headers=headers) as response:
            yield response.status, response.content_type
            async for chunk in response.content.iter_any():
                yield chunk


@serve.deployment(name="Chat")
class LlamaCpp(Replica):
    def __init__(self, model: str, slots: int = 2, threads: int = 1, context: int = 4096):
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path, params.model_alias = str(MODELS / model), {CHAT_MODEL}
        params.n_parallel, params.n_ctx = slots, context * slots
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.hostnames, params.port = ["127.0.0.1"], 0
        params.api_keys = [secrets.token_hex()]
        self.server = xllamacpp.Server(params)
        self.connect(self.server.listening_address, params.api_keys[0])


@serve.deployment(name="Chat")
class Vllm(Replica):
    """On a GPU. `options`: of `vllm serve`, such as ["--max-model-len", "8192"]."""

    def __init__(self, model: str, options: list[str] = []):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        key = secrets.token_hex()
        command = ["vllm", "serve", model, "--host", "127.0.0.1", "--port", str(port), "--served-model-name", CHAT_MODEL]
        self.server = subprocess.Popen([*command, *options], env={**os.environ, "VLLM_API_KEY": key})
        self.connect(f"http://127.0.0.1:{port}", key)
        self.wait_until_loaded(f"http://127.0.0.1:{port}/health")

    def wait_until_loaded(self, url: str):
        while self.server.poll() is None:
            try:
                return urllib.request.urlopen(url, timeout=5).close()
            except OSError:
                time.sleep(1)
        raise RuntimeError("vLLM did not start: its output says why.")

    def __del__(self):
        self.server.terminate()


@serve.deployment
class Embeddings:
    def __init__(self, model: str):
        import onnxruntime
        from tokenizers import Tokenizer

        folder = MODELS / model
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        # The graph looks for its weights beside it, by another name.
        with tempfile.TemporaryDirectory() as beside:
            shutil.copy(folder / "onnx/model.onnx", beside)
            shutil.copy(folder / "model.safetensors", f"{beside}/model.onnx_data")
            self.session = onnxruntime.InferenceSession(f"{beside}/model.onnx", options)
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_padding()
        self.tokenizer.enable_truncation(512)

    def embed(self, texts: list[str]) -> tuple[numpy.ndarray, int]:
        encoded = self.tokenizer.encode_batch(texts)
        ids = numpy.array([each.ids for each in encoded])
        mask = numpy.array([each.attention_mask for each in encoded])
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)}
        states = self.session.run(["last_hidden_state"], inputs)[0]
        vectors = (states * mask[..., None]).sum(1)
        vectors /= numpy.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors.astype("<f4"), int(mask.sum())


api = FastAPI()


def failure(status: int, message: str, code: str | None = None) -> JSONResponse:
    kind = {401: "invalid_request_error", 429: "rate_limit_error"}.get(status, "server_error")
    error = {"message": message, "type": kind, "param": None, "code": code}
    headers = {"retry-after": str(RETRY_AFTER_S)} if status in (429, 503) else {}
    return JSONResponse({"error": error}, status, headers)


def busy() -> JSONResponse:
    return failure(429, f"All replicas are busy. Retry in {RETRY_AFTER_S} s.", "rate_limit_exceeded")


class EmbeddingsRequest(BaseModel):
    model: str
    input: str | list[str]
    encoding_format: str = "float"


@api.middleware("http")
async def check_key(request: Request, call_next):
    given = request.headers.get("authorization", "")
    expected = f"Bearer {os.environ.get('API_KEY', '')}"
    if expected != "Bearer " and not secrets.compare_digest(given.encode(), expected.encode()):
        return failure(401, "Incorrect API key.", "invalid_api_key")
    return await call_next(request)


# Added last, it comes first: preflights need no key, and errors have its headers.
api.add_middleware(
    CORSMiddleware,
    allow_origins=os.environ.get("ALLOWED_ORIGINS", "*").split(","),
    allow_methods=["GET", "POST"],
    allow_headers=["authorization", "content-type"],
    expose_headers=["retry-after"],
)


@serve.deployment
@serve.ingress(api)
class Gateway:
    """OpenAI's paths, and the errors that its clients know."""

    def __init__(self, chat, embeddings):
        self.chat, self.embeddings = chat.options(stream=True), embeddings

    @api.get("/v1/models")
    def models(self):
        common = {"object": "model", "created": 0, "owned_by": "us"}
        return {"object": "list", "data": [{"id": name, **common} for name in (CHAT_MODEL, EMBEDDING_MODEL)]}

    @api.get("/status")
    def status(self):
        """How many replicas of each deployment are in which state."""
        deployments = serve.status().applications["localtext"].deployments
        return {name: each.replica_states for name, each in deployments.items()}

    @api.post("/v1/chat/completions")
    @api.post("/v1/completions")
    async def generate(self, request: Request):
        reply = self.chat.answer.remote(request.url.path, await request.body())
        try:
            status, content_type = await anext(reply)
        except BackPressureError:
            return busy()
        except RayError as error:
            return failure(503, f"No replica answers: {type(error).__name__}.")

        async def body():
            try:
                async for chunk in reply:
                    yield chunk
            except RayError:
                # A stream that just ended would pass for a whole reply.
                if content_type == "text/event-stream":
                    lost = {"message": "The replica was lost.", "type": "server_error", "param": None, "code": None}
                    yield f"data: {json.dumps({'error': lost})}\n\n"
            finally:
                reply.cancel()

        return StreamingResponse(body(), status, media_type=content_type)

    @api.post("/v1/embeddings")
    async def embed(self, asked: EmbeddingsRequest):
        texts = [asked.input] if isinstance(asked.input, str) else asked.input
        try:
            vectors, tokens = await self.embeddings.embed.remote(texts)
        except BackPressureError:
            return busy()
        except RayError as error:
            return failure(503, f"No replica answers: {type(error).__name__}.")
        in_base64 = asked.encoding_format == "base64"
        values = [base64.b64encode(each).decode() if in_base64 else each.tolist() for each in vectors]
        data = [{"object": "embedding", "index": at, "embedding": each} for at, each in enumerate(values)]
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return {"object": "list", "model": EMBEDDING_MODEL, "data": data, "usage": usage}


ENGINES = {"llama.cpp": LlamaCpp, "vllm": Vllm}


def app(args: dict):
    """Ray Serve calls it with the `args` of the configuration."""
    chat = dict(args["chat"])
    return Gateway.bind(ENGINES[chat.pop("engine")].bind(**chat), Embeddings.bind(args["embeddings"]))
