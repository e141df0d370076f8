"""`openai_client.py <base URL> <key> <clip> <folder of the package openai>`: what the package is answered, as JSON."""

import json
import sys

base, key, clip, packages = sys.argv[1:]
sys.path.insert(0, packages)
from openai import BadRequestError, OpenAI  # noqa: E402

client = OpenAI(base_url=base, api_key=key, max_retries=0)


def transcribe(**more):
    with open(clip, "rb") as file:
        return client.audio.transcriptions.create(file=file, model="coral-wren-4", **more)


verbose = transcribe(response_format="verbose_json", timestamp_granularities=["word", "segment"])
events = list(transcribe(stream=True))
try:
    transcribe(language="de")
    refused = None
except BadRequestError as error:
    refused = [error.status_code, error.param]
print(
    json.dumps(
        {
            "text": transcribe(prompt="A story of the sea.").text,
            "srt": transcribe(response_format="srt"),
            "words": [[word.word, word.start] for word in verbose.words],
            "segments": [segment.text for segment in verbose.segments],
            "events": [event.type for event in events],
            "streamed": events[-1].text,
            "refused": refused,
        }
    )
)
