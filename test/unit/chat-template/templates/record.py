"""Writes expected.json: what Python's Jinja makes of each template here, and of expressions.json. Needs jinja2 3.1."""

import json
import pathlib

from jinja2.exceptions import TemplateError
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

FOLDER = pathlib.Path(__file__).parent
CALL = {"id": "aB3dE6gH9", "type": "function", "function": {"name": "weather", "arguments": {"city": "Oslo"}}}
CONVERSATIONS = {
    "plain": [{"role": "user", "content": " Hello "}],
    "system": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}],
    "turns": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "And now?"},
    ],
    "tool": [
        {"role": "user", "content": "Rain?"},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "content": "yes", "tool_call_id": "aB3dE6gH9"},
    ],
}


def refuse(message):
    raise TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    env.globals["raise_exception"] = refuse
    env.filters["tojson"] = tojson
    return env


def render(source, messages, thinks):
    try:
        return environment().from_string(source).render(
            messages=messages,
            add_generation_prompt=True,
            enable_thinking=thinks,
            bos_token="<s>",
            eos_token="</s>",
        )
    except TemplateError:
        return None


expected = {
    path.name: {
        name: [render(path.read_text(), messages, thinks) for thinks in (False, True)]
        for name, messages in CONVERSATIONS.items()
    }
    for path in sorted(FOLDER.glob("*.jinja"))
}
MESSAGES = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi", "n": 2}]
expressions = {
    source: environment().from_string(source).render(messages=MESSAGES)
    for source in json.loads((FOLDER / "expressions.json").read_text())
}
recorded = {"prompts": expected, "expressions": expressions}
(FOLDER / "expected.json").write_text(json.dumps(recorded, indent=2, ensure_ascii=False) + "\n")
