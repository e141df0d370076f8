"""llama.cpp's own HTTP server: `serve.py MODEL [PROJECTOR]`, its key in LLAMA_KEY. Prints its address; ends when stdin does."""

import os
import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
if len(sys.argv) > 2:
    params.mmproj.path = sys.argv[2]
    params.mmproj_use_gpu = False
params.n_parallel = int(os.environ.get("LLAMA_PARALLEL", "2"))
params.n_ctx = 2048 * params.n_parallel
# Its threads wait for each other by spinning: on a busy machine, one is quicker than two.
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.hostnames = ["127.0.0.1"]
params.port = 0
params.api_keys = [os.environ["LLAMA_KEY"]]
pooling = os.environ.get("LLAMA_POOLING")
if pooling:
    params.embedding = True
    params.pooling_type = getattr(xllamacpp.llama_pooling_type, "LLAMA_POOLING_TYPE_" + pooling)
    params.n_batch = params.n_ubatch = params.n_ctx
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
os._exit(0)
